"""Network interfaces and the GID tables of RDMA devices."""

import re
from collections.abc import Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from qops.evidence.network import Gid, Interface, Network
from qops.evidence.text import Quote, Text
from qops.pattern import lazy
from qops.probes.base import Command, Probe
from qops.probes.prefix import LONGEST, strip

_LINK = lazy(r"\s*[0-9]{1,6}: ([^\s:@]{1,32})(?:@[^\s:]{1,32})?: <([A-Z0-9_,-]{0,200})>(.{0,400})", re.ASCII)
_MTU = lazy(r"\bmtu ([0-9]{1,6})\b", re.ASCII)
_STATE = lazy(r"\bstate (UP|DOWN|UNKNOWN|LOWERLAYERDOWN|DORMANT)\b", re.ASCII)
_IFCONFIG = lazy(r"([^\s:]{1,32}): flags=[0-9]{1,8}<([A-Z0-9_,]{0,200})>(.{0,100})", re.ASCII)
_ONE_LINE = lazy(r"\s*[0-9]{1,6}: ([^\s:@]{1,32})\s+inet6? ([0-9a-fA-F.:]{2,45}/[0-9]{1,3})\b", re.ASCII)
_INET = lazy(r"\s+inet6? ([0-9a-fA-F.:]{2,45}(?:/[0-9]{1,3})?)\b", re.ASCII)
_BRIEF = lazy(r"([^\s:@]{1,32})(?:@\S{1,32})?\s+(UP|DOWN|UNKNOWN)((?:\s+[0-9a-fA-F.:]{2,45}/[0-9]{1,3})*)\s*", re.ASCII)

_SHOW = lazy(
    r"\s*([\w.-]{1,40})\s+([0-9]{1,3})\s+([0-9]{1,4})\s+([0-9a-f:]{15,39})(?:\s+[0-9.]{7,15})?"
    r"(?:\s+(?:RoCE )?(v[12])(?:\s+([\w.@-]{1,32}))?)?\s*",
    re.ASCII,
)
_DEVICE = lazy(r"\s*hca_id:\s*([\w.-]{1,40})", re.ASCII)
_PORT = lazy(r"\s*port:\s*([0-9]{1,3})\s*", re.ASCII)
_GID = lazy(r"\bGID\[\s*([0-9]{1,4})\]:?\s*([^\s,]{2,60})(?:\s*,\s*(RoCE v[12]|IB[\w/ ]{0,20}))?", re.ASCII)
_NETDEV = lazy(
    r"\s*([\w.-]{1,40}) (?:\([0-9a-f:.]{7,15}\) )?port ([0-9]{1,3}) ==> ([\w.@-]{1,32}) \((Up|Down)\)", re.ASCII
)
_SYSFS = lazy(
    r"\s*/sys/class/infiniband/([\w.-]{1,40})/ports/([0-9]{1,3})/(gids|gid_attrs/types|gid_attrs/ndevs)/([0-9]{1,4}):"
    r"\s*(\S.{0,60}?)\s*",
    re.ASCII,
)
_EMPTY = lazy(r"[0:]*")
_KINDS = {"v1": "RoCE v1", "v2": "RoCE v2", "IB/RoCE v1": "RoCE v1"}
CLUE = lazy(
    r"^\W*[0-9]{1,6}: \S{1,64} ?(?:<[A-Z]|\s*inet6? )|: flags=[0-9]+<|GID\[\s*[0-9]+\]|/sys/class/infiniband/|"
    r"n_gids_found| port [0-9]+ ==> |"
    r"\s[0-9]+\s+[0-9]+\s+[0-9a-f]{0,4}:[0-9a-f]{0,4}:|^\S+\s+(?:UP|DOWN|UNKNOWN)\s+[0-9a-f.:]+/[0-9]",
    re.ASCII,
)


class _Found(Struct):
    """What was found so far, in the order in which it was said."""

    interfaces: dict[str, Interface] = field(default_factory=dict)
    gids: dict[tuple[str, int, int], Gid] = field(default_factory=dict)
    netdevs: dict[tuple[str, int], str] = field(default_factory=dict)

    def interface(self, name: str, quote: Quote, up: bool | None = None, mtu: int | None = None) -> None:
        """Note an interface; what is known of it already stays."""
        known = self.interfaces.get(name) or Interface(name, quote)
        self.interfaces[name] = replace(
            known, up=known.up if known.up is not None else up, mtu=known.mtu if known.mtu is not None else mtu
        )

    def address(self, name: str, address: str, quote: Quote) -> None:
        """Note an address of an interface."""
        self.interface(name, quote)
        known = self.interfaces[name]
        if address not in known.addresses and len(known.addresses) < 64:
            self.interfaces[name] = replace(known, addresses=(*known.addresses, address))

    def gid(self, key: tuple[str, int, int], gid: str, quote: Quote, kind: str = "", interface: str = "") -> None:
        """Note a GID, or what else is said of it; an empty entry of the table is none."""
        known = self.gids.get(key) or Gid(*key, "", "", quote)
        self.gids[key] = replace(
            known,
            gid=known.gid or ("" if _EMPTY.fullmatch(gid) else gid),
            kind=known.kind or _KINDS.get(kind, kind),
            interface=known.interface or interface,
        )


def parse(texts: Sequence[Text]) -> Network | None:
    """Return every interface and every GID that any text names, each once."""
    found = _Found()
    for text in texts:
        _interfaces(text, found)
        _gids(text, found)
    gids = tuple(
        replace(g, interface=g.interface or found.netdevs.get((g.device, g.port), ""))
        for g in found.gids.values()
        if g.gid
    )
    if not (found.interfaces or gids or found.netdevs):
        return None
    return Network(tuple(found.interfaces.values()), gids, tuple((d, n) for (d, _), n in found.netdevs.items()))


def _up(flags: str, rest: str) -> bool:
    state = _STATE.search(rest)
    if state and state[1] != "UNKNOWN":
        return state[1] == "UP"
    return "UP" in flags.split(",") and "NO-CARRIER" not in flags


def _interfaces(text: Text, found: _Found) -> None:
    current = ""
    for index, raw in enumerate(text.lines):
        line = strip(raw)
        link = _LINK.match(line) or ("flags=" in line and _IFCONFIG.match(line))
        if link:
            mtu = _MTU.search(link[3])
            current = link[1]
            found.interface(current, text.quote(index), _up(link[2], link[3]), int(mtu[1]) if mtu else None)
            continue
        one = _ONE_LINE.match(line) if "inet" in line else None
        if one:
            found.address(one[1], one[2], text.quote(index))
            continue
        inet = _INET.match(line) if current and "inet" in line else None
        if inet:
            found.address(current, inet[1], text.quote(index))
            continue
        brief = _BRIEF.fullmatch(line) if "/" in line and line[:1].strip() else None
        if brief and brief[3]:
            found.interface(brief[1], text.quote(index), {"UP": True, "DOWN": False}.get(brief[2]))
            for address in brief[3].split():
                found.address(brief[1], address, text.quote(index))
        elif line.strip() and not line.startswith((" ", "\t")):
            current = ""


def _gids(text: Text, found: _Found) -> None:
    device, port = "", 1
    for index, raw in enumerate(text.lines):
        line = strip(raw)
        hca = _DEVICE.match(line)
        if hca:
            device, port = hca[1], 1
            continue
        new_port = _PORT.fullmatch(line)
        if new_port:
            port = int(new_port[1])
            continue
        netdev = _NETDEV.match(line) if "==>" in line else None
        if netdev:
            found.netdevs.setdefault((netdev[1], int(netdev[2])), netdev[3])
            found.interface(netdev[3], text.quote(index), netdev[4] == "Up")
            continue
        verbs = _GID.search(line) if "GID[" in line else None
        if verbs:
            found.gid((device, port, int(verbs[1])), verbs[2], text.quote(index), verbs[3] or "")
            continue
        sysfs = _SYSFS.fullmatch(line) if "/sys/class/infiniband/" in line else None
        if sysfs:
            key = (sysfs[1], int(sysfs[2]), int(sysfs[4]))
            value = sysfs[5]
            if sysfs[3] == "gids":
                found.gid(key, value, text.quote(index))
            else:
                kind, interface = (value, "") if sysfs[3].endswith("types") else ("", value)
                found.gid(key, "", text.quote(index), kind, interface)
            continue
        shown = _SHOW.fullmatch(line) if ":" in line else None
        if shown and ":" in shown[4]:
            key = (shown[1], int(shown[2]), int(shown[3]))
            found.gid(key, shown[4], text.quote(index), shown[5] or "IB", shown[6] or "")


def recognise(text: Text) -> bool:
    """Whether a line is one of `ip`, of a GID table or of ibdev2netdev."""
    return any(CLUE.search(line[:LONGEST]) for line in text.lines)


# The devices are links, which `grep -r` does not follow, and -R would walk all of /sys through them.
# Reading the type of an unused entry fails with EINVAL, hence -s and the final `true`.
# QOPS_ROOT shows another machine's /sys in place of this one's.
_PORTS = "sys/class/infiniband/*/ports/*"
_TABLES = f"""\
[ -d "$QOPS_ROOT/sys/class/infiniband" ] || QOPS_ROOT=
cd "$QOPS_ROOT/" &&
  grep -sHv '^[0:]*$' {_PORTS}/gids/* {_PORTS}/gid_attrs/types/* {_PORTS}/gid_attrs/ndevs/* | sed 's#^#/#'
true
"""

PROBE = Probe(
    name="network",
    makes=Network,
    parse=parse,
    recognise=recognise,
    asks=(
        Command(("ip", "address", "show"), "network interfaces, their state, MTU and addresses"),
        Command(
            ("sh", "-c", _TABLES),
            "the GID table of each RDMA device, with the kind and the interface of each entry",
            name="RDMA GID tables",
        ),
    ),
)
