"""One module per source of evidence: what is asked, and a total parser for the answer."""

from qops.probes import messages
from qops.probes.base import Probe

ALL: tuple[Probe, ...] = (messages.PROBE,)


def literals() -> tuple[str, ...]:
    """Return what a line of a very large file must hold to be of use to any parser."""
    return tuple(dict.fromkeys(literal.lower() for probe in ALL for literal in probe.literals))
