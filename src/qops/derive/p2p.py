"""Which pairs of GPUs NCCL will connect how (P2P, shared memory, network), and why, before anything is started."""

from collections.abc import Sequence

from msgspec import Struct

from qops.data import nccl as facts
from qops.data.messages import launch
from qops.evidence.gpu import P2pStatus, Pair, Path, Topology
from qops.evidence.kernel import System
from qops.evidence.message import Logs
from qops.evidence.nccl import NcclLog
from qops.evidence.process import Environment
from qops.evidence.text import Quote

FAR = (Path.PHB, Path.NODE, Path.SYS)  # paths that lead through a processor


class Level(Struct, frozen=True):
    """The P2P level in force, and why."""

    value: str
    because: str
    quotes: tuple[Quote, ...] = ()
    forced: bool = False  # somebody set it


class PairPlan(Struct, frozen=True):
    """How NCCL connects two GPUs: `transport` is P2P, SHM or NET."""

    pair: Pair
    transport: str
    because: str


class Setting(Struct, frozen=True):
    """A value that NCCL reads: from the environment of a process, or from what its log says is in force."""

    name: str
    value: str
    quote: Quote


def settings(name: str, environment: Environment | None, nccl: NcclLog | None) -> tuple[Setting, ...]:
    """Return each value of `name` that was seen. What NCCL's own log says comes first: it is in force."""
    said = tuple(Setting(s.name, s.value, s.quote) for s in (nccl.settings if nccl else ()) if s.name == name)
    seen = tuple(Setting(v.name, v.value.strip(), v.quote) for v in (environment.get(name) if environment else ()))
    return (*said, *seen)


def switched(name: str, environment: Environment | None, nccl: NcclLog | None) -> Setting | None:
    """Return the setting that gives `name` the value 1, the only one that acts for NCCL_*_DISABLE."""
    return next((s for s in settings(name, environment, nccl) if number(s.value) == 1), None)


def number(value: str) -> int:
    """Return what C's strtoll with base 0 makes of `value`: 0 for anything that starts with no digit."""
    text = value.strip().lstrip("+")[:20]
    sign = -1 if text.startswith("-") else 1
    text = text.lstrip("-").lower()
    base, digits = (16, "0123456789abcdef") if text.startswith("0x") else (10, "0123456789")
    text = text[2:] if base == 16 else text
    taken = ""
    for character in text:
        if character not in digits:
            break
        taken += character
    return sign * int(taken, base) if taken else 0


def level(
    environment: Environment | None, nccl: NcclLog | None, system: System | None, gpus: int | None, version: str = ""
) -> Level:
    """Return the P2P level in force for a communicator of `gpus` GPUs on this machine.

    NCCL_P2P_DISABLE=1 is looked at first, then NCCL_P2P_LEVEL, then the default of the release (paths.cc).
    """
    off = switched("NCCL_P2P_DISABLE", environment, nccl)
    if off:
        return Level("LOC", "NCCL_P2P_DISABLE=1", (off.quote,), forced=True)
    for setting in settings("NCCL_P2P_LEVEL", environment, nccl):
        value = facts.level_of(setting.value.split(" ")[0])
        if value:
            meaning = f", which is {value}" if value != setting.value else ""
            return Level(value, f"NCCL_P2P_LEVEL={setting.value}{meaning}", (setting.quote,), forced=True)
    text = version or next(iter(nccl.versions if nccl else ()), "")
    default = facts.default_p2p_level(
        facts.version_of(text), system.cpu_vendor if system else "", system.machine if system else "", gpus
    )
    return Level(default.level, default.because)


def plan(
    topology: Topology,
    status: P2pStatus | None,
    reach: Level,
    *,
    shm_off: bool = False,
) -> tuple[PairPlan, ...]:
    """Return how each pair of GPUs is connected.

    NCCL takes P2P when the pair is no further than the level and the driver grants both read and write,
    otherwise shared memory, otherwise the network, even inside one machine.
    """
    second = ("NET", "shared memory is switched off") if shm_off else ("SHM", "shared memory comes next")
    plans = []
    for pair in topology.pairs:
        wanted = facts.LEVEL_OF_PATH.get(pair.path)
        if wanted is None:
            continue
        refusal = refused(status, pair.a, pair.b)
        if facts.distance(wanted) > facts.distance(reach.value):
            plans.append(PairPlan(pair, second[0], f"{pair.path} is further than {reach.value} ({reach.because})"))
        elif refusal:
            plans.append(PairPlan(pair, second[0], f"the driver answers {refusal} for {pair.a} and {pair.b}"))
        else:
            plans.append(PairPlan(pair, "P2P", f"{pair.path} is within {reach.value} ({reach.because})"))
    return tuple(plans)


def refused(status: P2pStatus | None, a: str, b: str) -> str:
    """Return the driver's answer for a pair when it is not OK, else "". No answer is no refusal."""
    for p in status.pairs if status else ():
        if {p.a, p.b} == {a, b} and p.capability in ("", "r", "w") and p.status not in ("OK", "X", ""):
            return p.status
    return ""


def granted(status: P2pStatus | None) -> tuple[Quote, ...]:
    """Return where the driver says OK for reading or writing between two GPUs."""
    return tuple(
        p.quote for p in (status.pairs if status else ()) if p.status == "OK" and p.capability in ("", "r", "w")
    )


def offered(status: P2pStatus | None, nccl: NcclLog | None, logs: Logs | None) -> tuple[Quote, ...]:
    """Return what shows that P2P is used or allowed: NCCL's channels, the driver's matrix, CUDA's sample."""
    can = tuple(h.quote for h in logs.find(launch.PEER_ACCESS_CAN)) if logs else ()
    return (*used(nccl, "P2P"), *granted(status), *can)


def far_pairs(topology: Topology | None) -> tuple[Pair, ...]:
    """Return the pairs whose path leads through a processor (PHB, NODE, SYS)."""
    return tuple(p for p in (topology.pairs if topology else ()) if p.path in FAR)


def has_nvlink(topology: Topology | None) -> bool:
    """Return whether any pair is joined by NVLink."""
    return any(p.path is Path.NV for p in (topology.pairs if topology else ()))


def used(nccl: NcclLog | None, transport: str) -> tuple[Quote, ...]:
    """Return the log lines that say a pair goes over `transport` (`P2P`, `SHM`, `NET`)."""
    return tuple(c.quote for c in (nccl.channels if nccl else ()) if c.transport.startswith(transport))


def group_size(nccl: NcclLog | None, topology: Topology | None) -> int | None:
    """Return how many GPUs the largest communicator holds, or else how many the machine has."""
    sizes: Sequence[int] = [r.size for r in nccl.ranks] if nccl else []
    if sizes:
        return max(sizes)
    names = {n for p in topology.pairs for n in (p.a, p.b)} if topology else set()
    return len(names) or None
