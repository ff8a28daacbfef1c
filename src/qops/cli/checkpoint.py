"""The work of `qops diagnose serve --model`: a model's files are judged without loading them."""

from collections.abc import Sequence
from typing import Any

from qops.cli.progress import Line
from qops.contents import checkpoint as contents
from qops.engine import judge
from qops.evidence.checkpoint import Checkpoint
from qops.evidence.text import Gaps
from qops.job import Judged
from qops.job import judged as joined
from qops.rule import Rule


def judged(folder: str, rules: Sequence[Rule], *, quiet: bool) -> tuple[Judged, ...]:
    """Judge the model in a folder. UsageError when it is none."""
    with Line("model", quiet=quiet) as line:

        def told(done: int, whole: int) -> None:
            if line.due():
                line.note(f"reading the model: {done} of {whole} files")

        found: dict[type, Any] = {Checkpoint: contents.read(folder, told), Gaps: Gaps()}
    about = [rule for rule in rules if any(kind is Checkpoint for _, kind in rule.needs)]
    return (joined(judge(folder, "", found, about), found),)
