"""The faults that a diagnosis found on each side."""

from dataclasses import dataclass

from qops.derive.aspects.aspect import Aspect, Evidence, Matter, Values


@dataclass(frozen=True, slots=True)
class Faults:
    """What was found, as "CAUSE SUBJECT". Whoever compares runs the rules: derivations do not."""

    found: tuple[str, ...]


def _faults(seen: Evidence) -> Values | None:
    faults: Faults | None = seen.get(Faults)
    return None if faults is None else dict.fromkeys(faults.found, "found")


FAULT = Aspect("fault", Matter.BREAKS, "qops diagnose says more about it", _faults)
