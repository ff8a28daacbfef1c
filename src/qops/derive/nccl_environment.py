"""What NCCL should be told on a machine, each with its reason; nothing where its default is right.

Facts: NVIDIA/nccl src/graph/paths.cc (P2P levels, how NVML's answer is used) and the user guide's page on variables.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum

from msgspec import Struct, field

from qops.data import nccl as facts
from qops.derive import p2p, platform
from qops.derive.p2p import Level, PairPlan
from qops.evidence.gpu import Gpus, P2pStatus, Path, Topology
from qops.evidence.kernel import Iommu, KernelCommandLine, System
from qops.evidence.pcie import PcieTree
from qops.evidence.text import Quote


class Probed(StrEnum):
    """What a data-checked all-reduce on this machine said of peer-to-peer."""

    NEVER = "never probed"
    PASSED = "passed"
    FAILED = "hung, or gave wrong data"


class Machine(Struct, frozen=True):
    """What was seen of a machine. `gpus` are those that the engine gets; None or "" where nobody said."""

    gpus: int
    topology: Topology | None = None
    status: P2pStatus | None = None
    pcie: PcieTree | None = None
    iommu: Iommu | None = None
    command_line: KernelCommandLine | None = None
    system: System | None = None
    boards: Gpus | None = None
    nccl: str = ""  # the release in the image
    probed: Probed = Probed.NEVER
    nodes: int = 1
    interface: str = ""  # of the network between nodes
    adapters: tuple[str, ...] = ()  # RDMA devices of that network


class Choice(Struct, frozen=True):
    """A variable or an engine's flag, and why. `value` is None where it is left out on purpose."""

    name: str
    value: str | None
    because: str
    quotes: tuple[Quote, ...] = ()


class Environment(Struct, frozen=True):
    """The choices. `off` says that peer-to-peer must be off for everybody; `open` lists what would decide more."""

    variables: tuple[Choice, ...]
    off: str = ""
    pairs: tuple[PairPlan, ...] = ()
    open: tuple[str, ...] = field(default=())

    @property
    def written(self) -> Mapping[str, str]:
        """The variables that are set."""
        return {c.name: c.value for c in self.variables if c.value is not None}


def environment(machine: Machine) -> Environment:
    """Return what NCCL is told for one engine on `machine`, and what it is deliberately not told."""
    if machine.gpus < 2 and machine.nodes < 2:
        return Environment((Choice("NCCL_*", None, "one GPU has nobody to talk to"),))
    said = Choice("NCCL_DEBUG", "WARN", "it prints why it fails, and nothing otherwise")
    network = tuple(_network(machine))
    if machine.gpus < 2:
        return Environment((said, *network))
    reach = p2p.level(None, None, machine.system, machine.gpus, machine.nccl)
    peers = _peers(machine, reach)
    return Environment((said, *peers.variables, *network), peers.off, peers.pairs, peers.open)


def _peers(machine: Machine, reach: Level) -> Environment:
    """Return how GPUs of one machine talk to each other."""
    topology = machine.topology
    if topology is None or not topology.pairs:
        unknown = Choice("NCCL_P2P_LEVEL", None, "how the GPUs reach each other was not seen (nvidia-smi topo -m)")
        return Environment((unknown,), open=("nvidia-smi topo -m",))
    if p2p.has_nvlink(topology) and all(pair.path is Path.NV for pair in topology.pairs):
        quotes = (topology.pairs[0].quote,)
        return Environment((Choice("NCCL_P2P_LEVEL", None, "every pair has NVLink, which NCCL takes itself", quotes),))
    refusal = next((r for pair in topology.pairs if (r := p2p.refused(machine.status, pair.a, pair.b))), "")
    if refusal:
        because = f"the driver grants no peer-to-peer here ({refusal}); NCCL asks it, and takes shared memory by itself"
        return Environment(
            (Choice("NCCL_P2P_DISABLE", None, because),), pairs=p2p.plan(topology, machine.status, reach)
        )
    if machine.probed is Probed.FAILED:
        return _switched_off("the probe of peer-to-peer on this machine hung or gave wrong data", (), topology, machine)
    if machine.probed is Probed.PASSED:
        return _as_far_as_needed(machine, topology, reach)
    return _unproven(machine, topology, reach)


def _as_far_as_needed(machine: Machine, topology: Topology, reach: Level) -> Environment:
    """Peer-to-peer works here: let it reach the farthest pair."""
    farthest = max(
        (facts.LEVEL_OF_PATH[p.path] for p in topology.pairs if p.path in facts.LEVEL_OF_PATH), key=facts.distance
    )
    if facts.distance(farthest) <= facts.distance(reach.value):
        choice = Choice("NCCL_P2P_LEVEL", None, f"{reach.because}, and no pair is further than {farthest}")
        return Environment((choice,), pairs=p2p.plan(topology, machine.status, reach))
    pair = next(p for p in topology.pairs if facts.LEVEL_OF_PATH.get(p.path) == farthest)
    because = f"{pair.a} and {pair.b} are {pair.path} apart, the probe passed, and {reach.because}"
    wider = Level(farthest, f"NCCL_P2P_LEVEL={farthest}", forced=True)
    return Environment(
        (Choice("NCCL_P2P_LEVEL", farthest, because, (pair.quote,)),), pairs=p2p.plan(topology, machine.status, wider)
    )


def _unproven(machine: Machine, topology: Topology, reach: Level) -> Environment:
    """Nobody measured peer-to-peer: the driver's OK is no proof, so only what the platform shows counts."""
    pairs = p2p.plan(topology, machine.status, reach)
    direct = [plan for plan in pairs if plan.transport == "P2P"]
    probe = "qops probe p2p"
    if not direct:
        because = f"{reach.because}, so every pair goes over shared memory; more would need a probe that passes"
        return Environment((Choice("NCCL_P2P_LEVEL", None, because),), pairs=pairs, open=(probe,))
    redirecting = platform.redirects(machine.pcie)
    translating = platform.translation(machine.iommu, machine.command_line, None)
    if redirecting and translating:
        bridges = ", ".join(d.address or "a bridge" for d, _ in redirecting[:3])
        because = f"{bridges} redirects requests between GPUs to an IOMMU that translates them, which hangs or corrupts"
        return _switched_off(because, (redirecting[0][1], *translating[:1]), topology, machine)
    because = f"{reach.because}, and {len(direct)} of {len(pairs)} pairs use peer-to-peer by it"
    if redirecting:
        because += "; bridges redirect their requests, which makes that slow (role pcie_p2p)"
    elif translating:
        because += "; an IOMMU translates, which may make that slow"
    return Environment((Choice("NCCL_P2P_LEVEL", None, because),), pairs=pairs, open=(probe,))


def _switched_off(because: str, quotes: tuple[Quote, ...], topology: Topology, machine: Machine) -> Environment:
    off = Level("LOC", "NCCL_P2P_DISABLE=1", forced=True)
    choice = Choice("NCCL_P2P_DISABLE", "1", because, quotes)
    return Environment((choice,), off=because, pairs=p2p.plan(topology, machine.status, off))


def _network(machine: Machine) -> Iterator[Choice]:
    if machine.nodes < 2:
        because = "one machine: NCCL takes the network between its GPUs only where all else is off"
        yield Choice("NCCL_IB_DISABLE", None, because)
        return
    if machine.interface:
        because = "the nodes reach each other there; by itself NCCL may take another interface"
        yield Choice("NCCL_SOCKET_IFNAME", f"={machine.interface}", because)
        yield Choice(
            "GLOO_SOCKET_IFNAME", machine.interface, "the engine's own start-up talks by Gloo, which guesses too"
        )
    if machine.adapters:
        because = "these adapters are linked to the other nodes"
        yield Choice("NCCL_IB_HCA", "=" + ",".join(machine.adapters), because)
    release = facts.version_of(machine.nccl)
    if not release or release >= facts.GID_BY_ITSELF:
        yield Choice("NCCL_IB_GID_INDEX", None, "NCCL finds the RoCE v2 address itself from 2.21 on")


def flags(engine: str, made: Environment) -> tuple[Choice, ...]:
    """Return the engine's flags that go with `made`: whoever else uses peer-to-peer must leave it too."""
    if not made.off or engine not in ("vllm", "sglang"):
        return ()
    because = f"its own all-reduce uses peer-to-peer as well: {made.off}"
    return (Choice("--disable-custom-all-reduce", "", because),)


def review(set_by_hand: Mapping[str, str], made: Environment, machine: Machine) -> tuple[Choice, ...]:
    """Return what is to be said of settings that somebody else chose for this machine.

    `value` of each is what is derived instead: the same where the setting is reproduced, None where it is refuted.
    """
    told = {c.name: c for c in made.variables}
    return tuple(_reviewed(name, value, told, machine) for name, value in set_by_hand.items())


def _reviewed(name: str, value: str, told: Mapping[str, Choice], machine: Machine) -> Choice:
    if name == "NCCL_P2P_LEVEL":
        level = facts.level_of(value)
        own = told.get(name)
        if level is None:
            return Choice(name, own.value if own else None, f"{value!r} is no level: NCCL ignores it without a word")
        if own and own.value == level:
            word = "" if value == level else f" ({value} is the old number for it)"
            return Choice(name, level, f"the same is derived{word}: {own.because}")
        if own and own.value and facts.distance(level) >= facts.distance(own.value):
            because = f"{level} reaches further than any pair here needs; {own.value} does the same: {own.because}"
            return Choice(name, own.value, because)
        reach = p2p.level(None, None, machine.system, machine.gpus, machine.nccl).value
        forced = facts.distance(level) > facts.distance(reach)
        what = (
            f"{level} lets peer-to-peer go further than by default; it forces no NVLink"
            if forced
            else (f"{level} is no further than the default {reach}, so it does nothing, or switches peer-to-peer off")
        )
        return Choice(name, own.value if own else None, f"{what}. {own.because if own else _off(told)}".strip())
    if name in ("NCCL_P2P_DISABLE", "NCCL_IB_DISABLE", "NCCL_SHM_DISABLE") and p2p.number(value) != 1:
        return Choice(name, told[name].value if name in told else None, f"{name}={value} does nothing: only 1 acts")
    own = told.get(name)
    if own is not None and own.value == value:
        return Choice(name, value, f"the same is derived: {own.because}")
    if own is not None:
        return Choice(name, own.value, own.because)
    return Choice(name, None, "nothing seen on this machine asks for it")


def _off(told: Mapping[str, Choice]) -> str:
    off = told.get("NCCL_P2P_DISABLE")
    return f"{off.name}={off.value}: {off.because}" if off and off.value else (off.because if off else "")
