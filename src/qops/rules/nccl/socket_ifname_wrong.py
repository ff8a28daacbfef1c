"""NCL020: bootstrap or Gloo uses the wrong interface, or none matches."""

import re
from collections.abc import Iterator

from qops.data.messages import launch
from qops.data.messages import nccl as messages
from qops.derive import p2p, stall
from qops.evidence.engine import EngineLogs, JobResults
from qops.evidence.message import Logs, quotes
from qops.evidence.nccl import NcclLog
from qops.evidence.network import Network
from qops.evidence.process import Environment, Variable
from qops.pattern import lazy
from qops.rule import Confidence, Fix, Found, RuledOut, rule

# Bridges and tunnels that a host makes for its own containers and virtual machines.
_INSIDE = lazy(r"docker\d|br-[0-9a-f]{6,}|veth|virbr|lxcbr|lxdbr|cni\d|flannel|cali|podman", re.ASCII)
_INTERFACE = lazy(r"\[\d{1,2}\](?P<name>[^\s:<\[\]]{1,40}):(?P<address>[^\s<]{2,60})<", re.ASCII)
_NAMES = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME", "UCX_NET_DEVICES")


@rule(
    "NCL020",
    "socket-ifname-wrong",
    explains=(
        "nccl-error",
        "collective-hang",
        "watchdog-timeout",
        "job-failed",
        "peer-closed-connection",
        "engine-core-failed",
    ),
    fix=(
        Fix(
            "name an interface that exists here and reaches the other hosts: NCCL_SOCKET_IFNAME (a prefix; `=eth0` for "
            "exactly that one, `^docker,lo` to exclude) and GLOO_SOCKET_IFNAME, on each host for itself",
            commands=("ip -o -4 addr", "env | grep -E 'SOCKET_IFNAME|VLLM_HOST_IP'"),
        ),
        Fix(
            "give the host's name an address that others reach: not 127.0.1.1 in /etc/hosts",
            commands=('getent hosts "$(hostname)"',),
        ),
    ),
)
def socket_ifname_wrong(
    logs: Logs,
    environment: Environment | None,
    nccl: NcclLog | None,
    network: Network | None,
    jobs: JobResults | None,
    engines: EngineLogs | None,
) -> Iterator[Found | RuledOut]:
    """Bootstrap or Gloo uses the wrong interface, or none matches."""
    none = logs.find(messages.NO_SOCKET_INTERFACE, messages.SOCKET_NO_ADDRESS, launch.GLOO_NO_INTERFACE)
    asked = p2p.settings("NCCL_SOCKET_IFNAME", environment, nccl)
    if none:
        wanted = f" that matches NCCL_SOCKET_IFNAME={asked[0].value}" if asked else ""
        # The garbled address is also what ranks of different NCCL versions send each other (NVIDIA/nccl 1267).
        certain = asked or any(h.id != messages.SOCKET_NO_ADDRESS.id for h in none)
        if not certain and len({h.groups["version"] for h in logs.find(messages.PACKAGE)}) > 1:
            yield RuledOut("the hosts have different releases of NCCL, which garbles the address as well", ())
            return
        yield Found(
            "bootstrap",
            f"there is no network interface{wanted}",
            (*quotes(none, 1), *(s.quote for s in asked[:1])),
            Confidence.CERTAIN if certain else Confidence.LIKELY,
        )
        return
    refused = logs.find(launch.GLOO_CONNECT_LOOPBACK, launch.GLOO_REFUSED_BY_ITSELF)
    fallback = logs.find(launch.GLOO_LOOPBACK)
    failed = logs.find(launch.GLOO_CONNECT_FAILED)
    if fallback and failed and not refused and not stall.works(jobs, engines):
        yield Found(
            "Gloo",
            "its ranks could not connect, and one of them took the loopback interface because its own name does not "
            "resolve to an address of this host",
            (*quotes(fallback, 1), *quotes(failed, 1)),
            Confidence.LIKELY,
        )
        return
    # 127.0.1.1 is what Debian gives a host's own name; 127.0.0.1 alone may be a rank of one host that ended.
    named = any(h.groups["address"] == "127.0.1.1" for h in refused)
    if refused and (failed or fallback or named):
        yield Found(
            "Gloo",
            f"a rank was told to reach another at {refused[0].groups['address']}, which is its own loopback",
            (*quotes(refused, 1), *quotes(fallback, 1)),
            Confidence.CERTAIN if fallback else Confidence.LIKELY,
        )
        return
    told = _told_inside(environment)
    if failed and told and not stall.works(jobs, engines):
        yield Found(
            "Gloo",
            f"its ranks could not connect, and {told.name}={told.value} keeps them on an interface that leads nowhere",
            (*quotes(failed, 1), told.quote),
            Confidence.LIKELY,
        )
        return
    mute = logs.find(launch.GLOO_NO_ERROR)
    chosen = environment.get("GLOO_SOCKET_IFNAME") if environment else ()
    if mute and not chosen and not logs.find(launch.GLOO_PEER) and not stall.works(jobs, engines):
        yield Found(
            "Gloo",
            "its ranks could not connect and it names no error, as when it takes an interface that the others do not "
            "reach; GLOO_SOCKET_IFNAME was not seen",
            quotes(mute, 2),
            Confidence.POSSIBLE,
        )
        return
    loopback = logs.find(messages.BOOTSTRAP_LOOPBACK)
    several = stall.hosts(nccl, logs)
    if loopback and several and not stall.works(jobs, engines):
        yield Found(
            "bootstrap",
            "it uses the loopback interface in a job of several hosts",
            (loopback[0].quote, *several[:1]),
            Confidence.LIKELY,
        )
        return
    if stall.works(jobs, engines):
        return
    bridge = _bridge(logs)
    if bridge:
        yield bridge
        return
    if network is None or not network.interfaces:
        return
    names = [i.name for i in network.interfaces]
    if "lo" not in names:  # a list of some, such as ibdev2netdev's, does not show what is missing
        return
    for name in _NAMES[:2]:
        for v in environment.get(name) if environment else ():
            if not matches(v, names):
                yield Found(
                    v.owner,
                    f"{name}={v.value} matches no interface of this host ({', '.join(names[:6])})",
                    (v.quote, network.interfaces[0].quote),
                    Confidence.LIKELY,
                )
                return


def _told_inside(environment: Environment | None) -> Variable | None:
    """Return the setting that tells Gloo to use an interface inside this host."""
    settings = environment.get("GLOO_SOCKET_IFNAME") if environment else ()
    return next((v for v in settings if (n := v.value.lstrip("=")) == "lo" or _INSIDE.match(n)), None)


def _bridge(logs: Logs) -> Found | None:
    """Return what is wrong when ranks are told to meet on an interface that only exists inside one host."""
    using = logs.find(messages.BOOTSTRAP_USING)
    failed = logs.find(messages.CONNECTION_RESET, messages.CONNECT_FAILED)
    for hit in using:
        same = [h for h in using if h.groups["address"] == hit.groups["address"]]
        others = [h for h in same if h.groups["host"] != hit.groups["host"]]
        name = hit.groups["name"]
        if (_INSIDE.match(name) and (others or failed)) or (name == "lo" and others):
            where = f" at {hit.groups['address']}" if others else ""
            return Found(
                "bootstrap",
                f"it uses {name}, which leads nowhere outside one host"
                + (f", and two hosts have it{where}" if others else ", and a connection failed"),
                (hit.quote, *(h.quote for h in (*others, *failed)[:1])),
                Confidence.CERTAIN if others else Confidence.LIKELY,
            )
    for hit in logs.find(messages.SOCKET_INTERFACES):
        inside = [m for m in _INTERFACE.finditer(hit.groups["interfaces"]) if _INSIDE.match(m["name"])]
        for m in inside:
            met = next((h for h in failed if f"{m['address']}<" in h.quote.text), None)
            if met:
                return Found(
                    "NCCL",
                    f"a rank was told to connect to {m['address']}, the address of {m['name']}, which leads nowhere "
                    "outside one host",
                    (met.quote, hit.quote),
                    Confidence.LIKELY,
                )
    return None


def matches(setting: Variable, names: list[str]) -> bool:
    """Return whether a list of interfaces leaves at least one of `names` (NVIDIA/nccl src/misc/utils.cc matchIfList).

    NCCL compares prefixes, `=` asks for the exact name and `^` excludes; Gloo takes exact names.
    """
    value = setting.value.strip().strip("'\"")
    exact = setting.name == "GLOO_SOCKET_IFNAME"
    if not value:
        return True
    exclude = value.startswith("^") and not exact
    value = value[1:] if exclude else value
    if value.startswith("="):
        value, exact = value[1:], True
    wanted = [w.strip().split(":")[0] for w in value.split(",") if w.strip()]
    hit = [n for n in names if any(n == w if exact else n.startswith(w) for w in wanted)]
    return len(hit) < len(names) if exclude else bool(hit)
