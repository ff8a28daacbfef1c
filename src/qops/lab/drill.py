"""A drill: a fault that nobody names, the time until it is found, and points for finding it."""

import json
import secrets
import time
from pathlib import Path

import msgspec
from msgspec import Struct

from qops.errors import UsageError
from qops.lab import faults, lifecycle, planting
from qops.lab.docker import Container, Docker
from qops.lab.errors import LabError
from qops.lab.fault import Fault
from qops.lab.place import Place, Say

FULL = 100  # points for the right answer at once
WRONG = 20  # points that each wrong answer costs
FREE_S = 300  # seconds that cost nothing: a diagnosis and its runbook take that long
MINUTE = 5  # points that each minute beyond costs


class Drill(Struct, frozen=True):
    """The drill that is on. `begun` is in seconds since 1970."""

    host: str
    cause: str
    begun: float
    wrong: int = 0


class Score(Struct, frozen=True):
    """What an answer is worth. `cause` is what was planted, and "" after a wrong answer."""

    right: bool
    points: int
    seconds: float
    wrong: int
    host: str
    cause: str = ""


def _file(place: Place) -> Path:
    return place.folder / "drill.json"


def current(place: Place) -> Drill | None:
    """Return the drill that is on, if any; raises LabError when its record is damaged."""
    try:
        return msgspec.json.decode(_file(place).read_bytes(), type=Drill)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError, UnicodeError):
        raise LabError(f"{_file(place)} is damaged", "qops lab mend HOST, then remove it") from None


def suited(container: Container) -> tuple[Fault, ...]:
    """Return the faults that a drill may plant in a host: those of its class that need no serving engine."""
    return tuple(
        one for one in faults.ALL if not one.engine and (not one.classes or container.hardware_class in one.classes)
    )


def begin(place: Place, host: str, cause: str, say: Say) -> Drill:
    """Plant `cause`, or any fault that suits `host`, and begin to count. Raises UsageError when it is not possible."""
    if on := current(place):
        raise UsageError(f"a drill is on already, on {on.host}", "answer it, or end it: qops lab drill stop")
    container = lifecycle.find(place, host)
    if planting.planted(Docker(), container):
        raise UsageError(f"{host} has faults that somebody planted", f"qops lab mend {host}")
    candidates = [planting.find(cause)] if cause else list(suited(container))
    while candidates:
        fault = candidates.pop(secrets.randbelow(len(candidates)))
        drill = Drill(host, fault.cause, time.time())
        _write(place, drill)  # first, so that a drill that is killed here can be ended
        try:
            planting.plant(place, container, fault, say)
        except UsageError:
            _file(place).unlink(missing_ok=True)  # this host lacks what the fault needs
            if cause:
                raise
            continue
        drill = Drill(host, fault.cause, time.time())
        _write(place, drill)
        return drill
    raise UsageError(f"no fault can be planted in {host}", "qops lab up rtx5090, and name its host")


def answer(place: Place, cause: str, say: Say) -> Score:
    """Judge an answer. A right one mends the host and ends the drill. Raises UsageError when none is on."""
    on = current(place)
    if on is None:
        raise UsageError("no drill is on", "qops lab drill begins one")
    seconds = time.time() - on.begun
    if cause != on.cause:
        planting.find(cause)  # a name that no fault has costs nothing
        _write(place, msgspec.structs.replace(on, wrong=on.wrong + 1))
        return Score(False, points(seconds, on.wrong + 1), seconds, on.wrong + 1, on.host)
    end(place, say)
    return Score(True, points(seconds, on.wrong), seconds, on.wrong, on.host, on.cause)


def points(seconds: float, wrong: int) -> int:
    """Return the points for the right answer after `seconds` and so many wrong ones."""
    late = max(0.0, seconds - FREE_S)
    return max(0, FULL - WRONG * wrong - MINUTE * int(late // 60))


def end(place: Place, say: Say) -> Drill:
    """Mend the host and end the drill; return which it was."""
    on = current(place)
    if on is None:
        raise UsageError("no drill is on", "qops lab drill begins one")
    planting.mend(place, lifecycle.find(place, on.host), (on.cause,), say)
    _file(place).unlink(missing_ok=True)
    return on


def _write(place: Place, drill: Drill) -> None:
    part = _file(place).with_suffix(".part")
    part.write_text(json.dumps(msgspec.to_builtins(drill)))
    part.replace(_file(place))
