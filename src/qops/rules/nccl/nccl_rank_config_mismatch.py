"""NCL006: ranks differ in NCCL version or in NCCL settings."""

from collections import defaultdict
from collections.abc import Iterator

from qops.data.messages import nccl as messages
from qops.derive import stall
from qops.evidence.engine import EngineLogs, JobResults
from qops.evidence.message import Hit, Logs, quotes
from qops.evidence.nccl import NcclLog, NcclSetting
from qops.evidence.process import Environment, Variable
from qops.evidence.text import Quote
from qops.rule import Confidence, Fix, Found, RuledOut, rule

# What both ends of a connection must agree on. Settings that each rank may choose for itself (debug, file names,
# interface names, affinity) are not here.
SHARED = frozenset(
    {
        "NCCL_ALGO",
        "NCCL_PROTO",
        "NCCL_BUFFSIZE",
        "NCCL_LL_BUFFSIZE",
        "NCCL_LL128_BUFFSIZE",
        "NCCL_NTHREADS",
        "NCCL_MIN_NCHANNELS",
        "NCCL_MAX_NCHANNELS",
        "NCCL_MIN_CTAS",
        "NCCL_MAX_CTAS",
        "NCCL_NCHANNELS_PER_NET_PEER",
        "NCCL_P2P_DISABLE",
        "NCCL_P2P_LEVEL",
        "NCCL_SHM_DISABLE",
        "NCCL_NET",
        "NCCL_IB_DISABLE",
        "NCCL_CUMEM_ENABLE",
        "NCCL_NVLS_ENABLE",
        "NCCL_MNNVL_ENABLE",
        "NCCL_COLLNET_ENABLE",
    }
)
# Every rank prints these while it starts a communicator, so a rank that completed its start without the line
# does not have the setting (src/graph/tuning.cc; seen in recordings of 2.28.9).
PRINTED_BY_EACH = frozenset({"NCCL_ALGO", "NCCL_PROTO"})


@rule(
    "NCL006",
    "nccl-rank-config-mismatch",
    explains=(
        "collective-hang",
        "watchdog-timeout",
        "shm-broadcast-wait",
        "engine-stalled",
        "nccl-error",
        "collective-mismatch",
    ),
    fix=(
        Fix(
            "give every rank the same NCCL library and the same NCCL_* settings: set them where the launcher starts, "
            "not in one container or in one host's /etc/nccl.conf",
            commands=("tr '\\0' '\\n' < /proc/PID/environ | grep ^NCCL_",),
        ),
    ),
)
def nccl_rank_config_mismatch(
    logs: Logs,
    nccl: NcclLog | None,
    environment: Environment | None,
    jobs: JobResults | None,
    engines: EngineLogs | None,
) -> Iterator[Found | RuledOut]:
    """Ranks differ in NCCL version or NCCL settings."""
    told = logs.find(messages.VERSION_MISMATCH)
    if told:
        yield Found(
            subject="job",
            message="NCCL itself says that the ranks run different versions",
            evidence=quotes(told),
            confidence=Confidence.CERTAIN,
        )
        return
    found = (
        _by_value(nccl)
        or _by_silence(nccl)
        or _by_host(logs, stall.works(jobs, engines))
        or _by_package(logs)
        or _by_environment(environment)
    )
    if found:
        yield found
        return
    sizes = logs.find(messages.COLLECTIVE_MISMATCH)
    if sizes:
        yield Found(
            subject="job",
            message="two ranks cut one transfer into pieces of different size, as ranks with different settings do",
            evidence=quotes(sizes),
            confidence=Confidence.LIKELY,
        )


def _by_value(nccl: NcclLog | None) -> Found | None:
    by_name: dict[str, dict[str, list[NcclSetting]]] = defaultdict(lambda: defaultdict(list))
    for s in nccl.settings if nccl else ():
        if s.name in SHARED and s.pid is not None:
            by_name[s.name][s.value].append(s)
    for name, values in by_name.items():
        if len(values) > 1 and _same_job(nccl, [s for own in values.values() for s in own]):
            (a, *_), (b, *_) = list(values.values())[:2]
            return _found(name, f"{a.value} on {_who(a)} and {b.value} on {_who(b)}", (a.quote, b.quote), certain=True)
    return None


def _by_silence(nccl: NcclLog | None) -> Found | None:
    ranks = nccl.ranks if nccl else ()
    for name in sorted(PRINTED_BY_EACH):
        own = [s for s in nccl.settings if s.name == name and s.pid is not None] if nccl else []
        have = {s.pid for s in own}
        for communicator in dict.fromkeys(r.communicator for r in ranks):
            complete = [r for r in ranks if r.communicator == communicator and r.complete and r.pid is not None]
            without = [r for r in complete if r.pid not in have]
            if own and without and any(r.pid in have for r in complete):
                a, b = own[0], without[0]
                text = f"{a.value} on {_who(a)} and not set on rank {b.rank} (pid {b.pid})"
                return _found(name, text, (a.quote, b.quote), certain=False)
    return None


def _by_host(logs: Logs, works: bool) -> Found | None:
    """Compare what each host's log says of itself: NCCL's release, the network it uses, the plug-in it loads."""
    if works:
        return None
    for message, key, what, confidence in (
        (messages.VERSION_OF_HOST, "version", "NCCL", Confidence.CERTAIN),
        (messages.NETWORK_OF_HOST, "name", "network", Confidence.LIKELY),
        (messages.PLUGIN_OF_HOST, "path", "network plug-in", Confidence.POSSIBLE),
    ):
        by_host: dict[str, Hit] = {}
        for hit in logs.find(message):
            by_host.setdefault(hit.groups["host"], hit)
        values = {hit.groups.get(key, ""): hit for hit in reversed(by_host.values())}
        if len(values) > 1:
            a, b = list(values.values())[:2]
            one, two = (h.groups.get(key) or "none" for h in (a, b))
            return Found(
                subject="job",
                message=f"{what} differs between hosts: {one} on {a.groups['host']} and {two} on {b.groups['host']}",
                evidence=(a.quote, b.quote),
                confidence=confidence,
            )
    return None


def _by_package(logs: Logs) -> Found | None:
    """Two hosts' lists of packages name different releases, and the ranks do not understand each other's addresses."""
    garbled = logs.first(messages.SOCKET_NO_ADDRESS)
    by_package: dict[str, dict[str, Hit]] = defaultdict(dict)
    for hit in logs.find(messages.PACKAGE):
        by_package[hit.groups["package"]].setdefault(hit.groups["version"], hit)
    for package, versions in by_package.items():
        if garbled and len(versions) > 1:
            (a, one), (b, two) = list(versions.items())[:2]
            return Found(
                subject="job",
                message=f"{package} is {a} here and {b} there, and a rank got an address that is none",
                evidence=(one.quote, two.quote, garbled.quote),
                confidence=Confidence.LIKELY,
            )
    return None


def _by_environment(environment: Environment | None) -> Found | None:
    owners = {v.owner for v in environment.variables if v.owner.startswith("pid ")} if environment else set()
    ranked = (
        {v.owner for v in environment.variables if v.name == "RANK" and v.owner in owners} if environment else set()
    )
    if environment is None or len(ranked) < 2:
        return None
    for name in sorted(SHARED):
        own = {v.owner: v for v in environment.get(name) if v.owner in ranked}
        values = {owner: own[owner].value if owner in own else None for owner in ranked}
        if len(set(values.values())) > 1:
            some: Variable = next(iter(own.values()))
            other = next(o for o, value in values.items() if value != some.value)
            told = values[other] if values[other] is not None else "not set"
            return _found(name, f"{some.value} for {some.owner} and {told} for {other}", (some.quote,), certain=False)
    return None


def _same_job(nccl: NcclLog | None, settings: list[NcclSetting]) -> bool:
    pids = {s.pid for s in settings}
    return (
        any(
            len({r.pid for r in nccl.ranks if r.communicator == c and r.pid in pids}) > 1
            for c in {r.communicator for r in nccl.ranks}
        )
        if nccl
        else False
    )


def _who(setting: NcclSetting) -> str:
    return f"pid {setting.pid}" + (f" [{setting.rank}]" if setting.rank is not None else "")


def _found(name: str, difference: str, evidence: tuple[Quote, ...], *, certain: bool) -> Found:
    return Found(
        subject="job",
        message=f"{name} differs between ranks: {difference}",
        evidence=evidence,
        confidence=Confidence.CERTAIN if certain else Confidence.LIKELY,
    )
