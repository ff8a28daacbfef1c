"""The work of `qops diagnose serve --model`: a model's files are judged without loading them, here or on hosts."""

from collections.abc import Sequence
from typing import Any

from qops.cli.progress import Line
from qops.collection import Collection
from qops.contents import checkpoint as contents
from qops.contents import far_folder
from qops.engine import judge
from qops.errors import EvidenceError
from qops.evidence.checkpoint import Checkpoint
from qops.evidence.text import Gaps
from qops.inventory import Host
from qops.job import Judged
from qops.job import judged as joined
from qops.probes.base import Probe
from qops.report import Verdict
from qops.rules.listing import Listed


def judged(folder: str, rules: Sequence[Listed], *, quiet: bool) -> tuple[Judged, ...]:
    """Judge the model in a folder. UsageError when it is none."""
    with Line("model", quiet=quiet) as line:

        def told(done: int, whole: int) -> None:
            if line.due():
                line.note(f"reading the model: {done} of {whole} files")

        found = contents.here(folder, told)
    return (_judged(folder, "", found, rules),)


def judged_on(
    hosts: Sequence[Host], folder: str, rules: Sequence[Listed], *, quiet: bool
) -> tuple[tuple[Judged, ...], bool]:
    """Judge the model in a folder of each of `hosts`; tell whether Ctrl-C ended it.

    A host without the folder, or whose answer is damaged, comes out undetermined, with the reason.
    """
    from qops.cli import fleet  # with SSH, which a folder of this machine needs nothing of

    def make(found: Collection, lost: str, written: str) -> Judged:
        data = next((text.data for text in found.texts if text.data), b"")
        if found.gaps or not data:
            told = found.gaps[0].reason if found.gaps else lost or "it answered nothing"
            return Judged(fleet.unseen(found.host, rules, Verdict.UNDETERMINED, told))
        try:
            read = contents.read(far_folder.Sent(folder, data))
        except EvidenceError as error:
            return Judged(fleet.unseen(found.host, rules, Verdict.UNDETERMINED, f"{error.message}; {error.hint}"))
        return _judged(found.host, found.collected_at, read, rules)

    ask = far_folder.question(folder, contents.DOCUMENT, contents.HEADER)
    known = [Probe("checkpoint", Checkpoint, lambda texts: None, lambda text: False, (ask,))]
    what = f"reading {folder} on {hosts[0].name if len(hosts) == 1 else f'{len(hosts)} hosts'}"
    looked, interrupted = fleet.look(hosts, known, make, what=what, seconds=far_folder.SECONDS, quiet=quiet)
    return tuple(one.result or Judged(fleet.failed(one, rules)) for one in looked), interrupted


def _judged(host: str, collected: str, found: Checkpoint, rules: Sequence[Listed]) -> Judged:
    seen: dict[type, Any] = {Checkpoint: found, Gaps: Gaps()}
    about = [rule for rule in rules if Checkpoint.__name__ in rule.needs]
    return joined(judge(host, collected, seen, about), seen)
