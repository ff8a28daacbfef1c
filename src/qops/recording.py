"""Evidence that was recorded before: read again as if the hosts had been asked."""

from collections.abc import Sequence
from pathlib import Path

from qops import probes
from qops.probes.scan import finder
from qops.transports import loose
from qops.transports.answer import Collection


def recorded(paths: Sequence[str | Path]) -> tuple[Collection, ...]:
    """Read bundles, folders, logs and "-" (standard input), as `--from` names them: one collection for each host."""
    return loose.read([str(path) for path in paths], finder(probes.literals()))
