"""Environment variables of GPU processes, containers, units and shells, and the lines of nccl.conf files."""

from collections.abc import Sequence

from qops.evidence.process import Environment, Variable
from qops.evidence.text import Text
from qops.pattern import lazy
from qops.probes.assignments import assignments
from qops.probes.base import Command, Probe, Read
from qops.probes.process_script import ENVIRONMENT

_PID = lazy(r"== pid ([0-9]{1,10})\s*$")
_FILE = lazy(r"== file (/\S{1,400})\s*$")
_SHOWN = lazy(r"(?:^|[$#>] ?)\s*(?:sudo )?(?:cat|head|less|more)\s+(\S{0,300}nccl\.conf)\s*$")
_NAMED = lazy(r"^\s*#\s*(\S{0,300}nccl\.conf):?\s*$")
_OWNERS = {"container": "container", "unit": "unit", "image": "image", "job": "job", "shell": "shell"}
MOST = 5000  # variables kept; a hostile text can hold no more of them


def recognise(text: Text) -> bool:
    """Return whether `text` sets a variable that concerns GPU work."""
    return next(iter(assignments(text.lines)), None) is not None


def parse(texts: Sequence[Text]) -> Environment | None:
    """Return every variable with its owner; the same variable of the same owner in one text counts once."""
    found: list[Variable] = []
    asked = False
    for text in texts:
        asked = asked or text.probe == PROBE.name
        owners = _owners(text)
        seen: set[tuple[str, str, str]] = set()
        for one in assignments(text.lines):
            owner = owners[one.index] or _OWNERS[one.kind]
            key = (one.name, one.value, owner)
            if key not in seen and len(found) < MOST:
                seen.add(key)
                found.append(Variable(one.name, one.value, owner, text.quote(one.index)))
    return Environment(tuple(found)) if found or asked else None


def _owners(text: Text) -> list[str]:
    """Return for each line whose variables it holds, "" where only the way they are set can tell."""
    whole = text.source if text.source.endswith("nccl.conf") else text.subject
    owners: list[str] = []
    current = whole
    for line in text.lines:
        short = line[:500]
        if not (current or short.startswith("==") or "nccl.conf" in short):
            pass
        elif match := _PID.match(short):
            current = f"pid {match[1]}"
        elif match := _FILE.match(short) or _SHOWN.search(short) or _NAMED.match(short):
            current = match[1]
        elif not short.strip() and current.endswith("nccl.conf"):
            current = whole
        owners.append(current)
    return owners


PROBE = Probe(
    name="environment",
    makes=Environment,
    shares=("cuda_libraries",),  # it asks for LD_LIBRARY_PATH
    parse=parse,
    recognise=recognise,
    asks=(
        Read("/etc/nccl.conf", "NCCL settings of the whole machine"),
        Command(
            ("sh", "-c", ENVIRONMENT),
            "the variables of each GPU process that steer NCCL, CUDA and the engine, and its nccl.conf; no secrets",
            root=True,
            name="gpu process environment",
        ),
    ),
    literals=("export ", "environment=", "environment:", "docker run", "$ env ", " -e nccl_", " -x nccl_"),
)
