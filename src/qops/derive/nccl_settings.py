"""The lint of NCCL_* settings: values that do nothing, typos that nobody reports, conflicts, and traps.

NCCL reads its variables with strcmp, strtoll and prefix matching, and is silent about what it does not understand.
Facts: NVIDIA/nccl src/misc/param.cc, src/graph/paths.cc, src/misc/socket.cc, and the user guide's page on variables.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from qops.data import nccl as facts
from qops.derive.p2p import number
from qops.evidence.container import Containers
from qops.evidence.engine import EngineLogs
from qops.evidence.nccl import NcclLog
from qops.evidence.network import Network
from qops.evidence.process import Environment, Variable
from qops.evidence.text import Quote

_NAMES_LEVEL = ("NCCL_P2P_LEVEL", "NCCL_NET_GDR_LEVEL")
_EXPECTED = "LOC, NVL, PIX, PXB, PHB or SYS"
_PREFIX_LISTS = ("NCCL_SOCKET_IFNAME", "NCCL_IB_HCA")
# A switch that only acts when it is exactly 1; 0 is what an unset one means.
_OFF_SWITCHES = ("NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE")
# Variables that name a place or an identity of one rank, so that different values are right.
_PER_RANK = (
    "NCCL_DEBUG_FILE",
    "NCCL_HOSTID",
    "NCCL_TOPO_DUMP_FILE",
    "NCCL_GRAPH_DUMP_FILE",
    "NCCL_IB_HCA",
    "NCCL_SOCKET_IFNAME",
    "NCCL_OOB_NET_IFNAME",
    "NCCL_IB_GID_INDEX",
    "NCCL_PROXY_CPUSET",
    "NCCL_RAS_ADDR",
)


class Remark(Struct, frozen=True):
    """One thing about one setting. `kind`: typo, no effect, legacy, conflict, unknown, version, prefix, differs."""

    kind: str
    name: str
    value: str
    owner: str
    quote: Quote
    what: str
    instead: str
    severity: str  # "warning" | "info"
    others: tuple[Quote, ...] = ()


def variables(environment: Environment | None, containers: Containers | None = None) -> tuple[Variable, ...]:
    """Return the NCCL_* variables of processes, shells, nccl.conf files and containers."""
    found = [v for v in (environment.variables if environment else ()) if v.name.upper().startswith("NCCL_")]
    for c in containers.containers if containers else ():
        found += [Variable(k, v, f"container {c.name}", c.quote) for k, v in c.environment if k.startswith("NCCL_")]
    return tuple(found)


def lint(settings: Sequence[Variable], version: str = "", network: Network | None = None) -> tuple[Remark, ...]:
    """Return the remarks about `settings`, in their order. `version` is the NCCL release, as printed; "" if unknown."""
    release = facts.version_of(version)
    remarks: list[Remark] = []
    for v in settings:
        remarks.extend(_of_one(v, release, network))
    for owner in dict.fromkeys(v.owner for v in settings):
        remarks.extend(_conflicts([v for v in settings if v.owner == owner]))
    remarks.extend(differences(settings))
    seen: dict[tuple[str, str, str, str], Remark] = {}
    for r in remarks:
        seen.setdefault((r.kind, r.name, r.value, "" if r.kind != "differs" else r.owner), r)
    return tuple(seen.values())


def differences(settings: Sequence[Variable]) -> tuple[Remark, ...]:
    """Return one remark for each variable whose value is not the same in all processes (owners `pid N` or `rank N`)."""
    ranked = [v for v in settings if v.owner.startswith(("pid ", "rank "))]
    owners = tuple(dict.fromkeys(v.owner for v in ranked))
    found = []
    for name in dict.fromkeys(v.name for v in ranked):
        if name in _PER_RANK or facts.foreign(name):
            continue
        values = {v.owner: v for v in ranked if v.name == name}
        kinds = {v.value for v in values.values()} | ({""} if len(values) < len(owners) else set())
        if len(owners) < 2 or len(kinds) < 2:
            continue
        shown = ", ".join(f"{o}: {values[o].value if o in values else 'not set'}" for o in owners[:4])
        first = next(iter(values.values()))
        found.append(
            Remark(
                "differs",
                name,
                first.value,
                first.owner,
                first.quote,
                f"{name} is not the same in all ranks ({shown})",
                "give every rank the same value",
                "warning",
                tuple(v.quote for v in values.values()),
            )
        )
    return tuple(found)


def _of_one(v: Variable, release: facts.Version, network: Network | None) -> Iterator[Remark]:
    def remark(kind: str, what: str, instead: str, severity: str = "warning") -> Remark:
        return Remark(kind, v.name, v.value, v.owner, v.quote, what, instead, severity)

    yield from _of_name(v, release)
    if facts.read_from(v.name) is None:
        return
    value = v.value
    if value != value.strip():
        yield remark("typo", f"{v.name} has blanks around its value, which NCCL does not remove", "remove the blanks")
        value = value.strip()
    if v.name in _NAMES_LEVEL:
        yield from _level(v, value)
    elif v.name in _OFF_SWITCHES and number(value) != 1:
        what = f"{v.name}={value} does nothing: only 1 acts"
        if value in ("", "0"):
            yield remark("no effect", what, f"leave {v.name} out", "info")
        else:
            yield remark(
                "no effect", f"{what}, and {value!r} is read as {number(value)}", f"{v.name}=1, or leave it out"
            )
    elif v.name == "NCCL_DEBUG":
        if value.upper() not in facts.DEBUG_LEVELS:
            yield remark("typo", f"NCCL_DEBUG={value} is no level and turns nothing on", "NCCL_DEBUG=INFO or WARN")
    elif v.name in _PREFIX_LISTS:
        yield from _prefix(v, value, network)
    elif v.name == "NCCL_IB_GID_INDEX":
        if release >= facts.GID_BY_ITSELF and number(value) >= 0:
            what = f"NCCL {facts.written(release)} finds the GID itself; {v.name}={value} ties it to one table's order"
            yield remark("version", what, f"leave {v.name} out", "info")
    elif v.name not in facts.strings() and value and not value.lstrip("+-")[:1].isdigit():
        what = f"{v.name}={value} is read as a number, which makes it 0"
        yield remark("typo", what, f"{v.name}=1 or {v.name}=0")


def _of_name(v: Variable, release: facts.Version) -> Iterator[Remark]:
    def remark(kind: str, what: str, instead: str, severity: str) -> Remark:
        return Remark(kind, v.name, v.value, v.owner, v.quote, what, instead, severity)

    since, until = facts.read_from(v.name), facts.read_until(v.name)
    if since is None:
        if facts.foreign(v.name):
            return
        import difflib  # only for names that nobody knows

        near = difflib.get_close_matches(v.name.upper()[:60], facts.known(), 1, 0.9)
        if near:
            yield remark("unknown", f"NCCL has no {v.name}, it has {near[0]}", f"{near[0]}={v.value}", "warning")
        else:
            yield remark("unknown", f"no release of NCCL is known to read {v.name}", "remove it", "info")
        return
    if release and since > release[: len(since)] and since > (2, 18):
        what = f"NCCL {facts.written(release)} does not read {v.name} yet (first seen in {facts.written(since)})"
        yield remark("version", what, "update NCCL, or remove the variable", "info")
    elif release and until is not None and release[: len(until)] >= until:
        what = f"NCCL {facts.written(release)} no longer reads {v.name} (gone in {facts.written(until)})"
        yield remark("version", what, "remove it", "info")


def _level(v: Variable, value: str) -> Iterator[Remark]:
    level = facts.level_of(value)
    if level is None:
        near = facts.level_of(value.upper())
        meant = "PHB" if value.upper() == "NODE" else near
        what = f"{v.name}={value} is ignored without a word, since NCCL has no such level"
        if value.upper() == "NODE":
            what += " (what nvidia-smi calls NODE is PHB to NCCL)"
        yield Remark(
            "typo",
            v.name,
            value,
            v.owner,
            v.quote,
            what,
            f"{v.name}={meant}" if meant else f"one of {_EXPECTED}",
            "warning",
        )
    elif value[:1].isdigit():
        what = f"{v.name}={value} is an old number that means {level}"
        yield Remark("legacy", v.name, value, v.owner, v.quote, what, f"{v.name}={level}", "info")


def _prefix(v: Variable, value: str, network: Network | None) -> Iterator[Remark]:
    if value.startswith(("^", "=")) or not value:
        return
    names = tuple(i.name for i in network.interfaces) if network and v.name == "NCCL_SOCKET_IFNAME" else ()
    if v.name == "NCCL_IB_HCA" and network:
        names = tuple(dict.fromkeys(g.device for g in network.gids))
    for part in (p.strip().split(":")[0] for p in value.split(",")):
        caught = [n for n in names if n.startswith(part) and n != part]
        exact = part in names
        if part and caught and exact:
            what = f"{v.name}={value} is a prefix: it also takes {', '.join(caught[:4])}"
            instead = f"{v.name}=={value}"
            yield Remark("prefix", v.name, value, v.owner, v.quote, what, instead, "warning")
            return


def _conflicts(own: Sequence[Variable]) -> Iterator[Remark]:
    first = {v.name: v for v in reversed(own)}
    off = first.get("NCCL_P2P_DISABLE")
    p2p_off = off is not None and number(off.value) == 1
    level = first.get("NCCL_P2P_LEVEL")
    if off and level and p2p_off and facts.level_of(level.value.strip()) not in (None, "LOC"):
        what = f"NCCL_P2P_DISABLE=1 is looked at first, so NCCL_P2P_LEVEL={level.value} never acts"
        yield _conflict(level, what, "keep one of the two", (off.quote,))
    shm = first.get("NCCL_SHM_DISABLE")
    if off and p2p_off and shm and number(shm.value) == 1:
        ib = first.get("NCCL_IB_DISABLE")
        sockets = ib is not None and number(ib.value) == 1
        way = "TCP sockets" if sockets else "the network"
        what = f"P2P and shared memory are both off, so GPUs of one machine talk over {way}"
        yield _conflict(shm, what, "leave NCCL_SHM_DISABLE out", (off.quote,))


def _conflict(v: Variable, what: str, instead: str, others: tuple[Quote, ...]) -> Remark:
    return Remark("conflict", v.name, v.value, v.owner, v.quote, what, instead, "warning", others)


def release(nccl: NcclLog | None, engines: EngineLogs | None) -> str:
    """Return the NCCL release in use, as printed by NCCL or by the engine; "" when nobody said it."""
    said = next(iter(nccl.versions if nccl else ()), "")
    return said or next((e.nccl for e in (engines.logs if engines else ()) if e.nccl), "")
