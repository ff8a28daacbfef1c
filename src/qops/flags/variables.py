"""Whether a release reads the environment variables that it is given."""

from collections.abc import Iterable, Iterator

from qops.data import nccl
from qops.flags.accepted import TITLES, Accepted
from qops.flags.arguments import later_filled
from qops.flags.command import Assignment
from qops.flags.heirs import NOBODY, VARIABLES
from qops.flags.names import LEAVE_OUT, nearest
from qops.flags.remark import Kind, Remark, Severity

_OWN = {"vllm": ("VLLM_",), "sglang": ("SGLANG_", "SGL_")}
# For the image, the installer and the deployment, not for the engine: docker/Dockerfile and Helm charts of both.
_NOT_READ_BY_PYTHON = ("VLLM_PORT_", "VLLM_SERVICE_", "SGLANG_PORT_", "SGLANG_SERVICE_")


def check(accepted: Accepted, environment: Iterable[Assignment]) -> Iterator[Remark]:
    """Yield a remark for each variable that does nothing, or not what was meant."""
    engine = accepted.engine.engine
    for one in environment:
        if one.name in NOBODY:
            yield _unread(one, NOBODY[one.name], LEAVE_OUT)
        elif one.name.startswith(_OWN[engine]):
            yield from _own(accepted, one)
        elif other := next((title for name, title in TITLES.items() if one.name.startswith(_OWN[name])), None):
            yield _unread(one, f"it is {other}'s, and this is {TITLES[engine]}", LEAVE_OUT, Severity.INFO)
        elif one.name.startswith("NCCL_P2P"):
            yield from _nccl(one)


def _own(accepted: Accepted, one: Assignment) -> Iterator[Remark]:
    states = accepted.engine.variables.get(one.name, ())
    now = accepted.now(states)
    heir = VARIABLES.get((accepted.engine.engine, one.name))
    if now is None:
        if not one.name.startswith(_NOT_READ_BY_PYTHON):
            yield _unread(one, *_why(accepted, one.name, heir))
    elif now.deprecated:
        instead = now.instead or heir or LEAVE_OUT
        text = f"{accepted.title} has retired it"
        yield Remark(Kind.DEPRECATED, Severity.WARNING, one.name, text, instead, line=one.line)
    elif now.choices and one.value and not later_filled(one.value):
        given = one.value.lower() if now.fold else one.value
        if given not in {choice.lower() if now.fold else choice for choice in now.choices}:
            text = f"{accepted.title} refuses {one.value!r}: {', '.join(now.choices)}"
            near = nearest(one.value, now.choices)
            instead = f"{one.name}={near}" if near else ""
            yield Remark(Kind.CHOICE, Severity.ERROR, one.name, text, instead, line=one.line)


def _why(accepted: Accepted, name: str, heir: str | None) -> tuple[str, str]:
    states = accepted.engine.variables.get(name, ())
    if left := accepted.left(states):
        before, last, first = left
        text = (
            f"{accepted.title} does not read it: {last} was the last release that did, {first} the first that did not"
        )
        option = "--" + name.partition("_")[2].lower().replace("_", "-")
        return text, heir or before.instead or (option if option in accepted.names else LEAVE_OUT)
    if since := accepted.comes(states):
        return f"{accepted.title} does not read it yet: {since} does", f"{LEAVE_OUT}, or use {since}"
    text = f"{accepted.title} does not read it, nor does any release from {accepted.engine.versions[0]} on"
    known = [one for one, states in accepted.engine.variables.items() if accepted.now(states)]
    return text, heir or nearest(name, known, cutoff=0.8) or LEAVE_OUT


def _nccl(one: Assignment) -> Iterator[Remark]:
    if one.name == "NCCL_P2P_LEVEL" and one.value.isdigit():
        place = min(int(one.value), len(nccl.LEGACY_LEVELS) - 1)
        meant = nccl.LEGACY_LEVELS[place]
        text = f"the number {one.value} is the old way to write {meant}; it is no distance that grows by one"
        yield Remark(Kind.DEPRECATED, Severity.WARNING, one.name, text, f"NCCL_P2P_LEVEL={meant}", line=one.line)
    elif one.name == "NCCL_P2P_LEVEL" and one.value and not later_filled(one.value) and one.value not in nccl.LEVELS:
        text = f"NCCL knows no level {one.value!r}: {', '.join(nccl.LEVELS)}"
        yield Remark(Kind.CHOICE, Severity.ERROR, one.name, text, "", line=one.line)
    elif one.name == "NCCL_P2P_DISABLE" and one.value == "0":
        yield _unread(one, "0 is what NCCL does without it", LEAVE_OUT, Severity.INFO)


def _unread(one: Assignment, why: str, instead: str, severity: Severity = Severity.WARNING) -> Remark:
    return Remark(Kind.VARIABLE, severity, one.name, why, instead, line=one.line)
