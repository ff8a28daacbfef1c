"""The packet filter: the table of qops, and who else filters."""

from collections.abc import Sequence

from qops.evidence.firewall import Firewall
from qops.evidence.text import Text
from qops.pattern import lazy
from qops.probes.base import Command, Probe

# ufw's unit is active where ufw is not, so its own file is asked.
SCRIPT = """PATH=$PATH:/usr/sbin:/sbin; export PATH
m=; command -v apt-get >/dev/null && m=apt; [ -n "$m" ] || { command -v dnf >/dev/null && m=dnf; }
echo "== packet filter nft=$(command -v nft) manager=$m"
command -v firewalld >/dev/null && systemctl --quiet is-active firewalld 2>/dev/null && echo 'filters: firewalld'
grep -qs '^ENABLED=yes' /etc/ufw/ufw.conf && echo 'filters: ufw'
if command -v nft >/dev/null; then
  nft list chains 2>/dev/null | grep -q 'hook input .*policy drop' && echo 'filters: a chain that drops by default'
  nft -s list table inet qops 2>&1
elif command -v iptables >/dev/null; then
  iptables -w 1 -S INPUT 2>/dev/null | grep -qx -e '-P INPUT DROP' && echo 'filters: a chain that drops by default'
fi
command -v iptables >/dev/null && iptables -w 1 -S DOCKER-USER 2>/dev/null | grep -E -m 1 -e '-j (DROP|REJECT)'
true
"""

_HEAD = lazy(r"== packet filter nft=(\S{0,200}) manager=(apt|dnf|)\s*$")
_OTHER = lazy(r"filters: (.{1,60})$")
_COMMENT = lazy(r"\s*comment \"qops ([0-9a-f]{8,64})\"")
_SET = lazy(r"\s*set (\w{1,40}) \{")
_ELEMENTS = lazy(r"\s*elements = \{(.{0,60000})$")
_DROPS = lazy(r"\s.*\bdrop$")
_TABLE = "table inet qops {"
_NONE = "No such file or directory"


def parse(texts: Sequence[Text]) -> Firewall | None:
    """Return what the first answer says."""
    for text in texts:
        for index, line in enumerate(text.lines):
            if head := (_HEAD.match(line) if line.startswith("== packet filter ") else None):
                return _read(text, index, bool(head[1]), head[2])
    return None


def _read(text: Text, begin: int, installed: bool, manager: str) -> Firewall:
    loaded: bool | None = None if installed else False
    digest, name, drops, user = "", "", 0, False
    others: list[str] = []
    sets: dict[str, tuple[str, ...]] = {}
    quote = text.quote(begin)
    open_elements = False
    for index in range(begin + 1, len(text.lines)):
        line = text.lines[index]
        if other := _OTHER.match(line):
            others.append(other[1])
        elif line.startswith(_TABLE):
            loaded, quote = True, text.quote(index)
        elif line.startswith("-A DOCKER-USER"):
            user = True
        elif not loaded and _NONE in line:
            loaded = False
        elif loaded and (said := _COMMENT.match(line)):
            digest = said[1]
        elif loaded and (opened := _SET.match(line)):
            name = opened[1]
            sets[name] = ()
        elif loaded and name and (open_elements or _ELEMENTS.match(line)):
            listed = _ELEMENTS.match(line)
            inner = listed[1] if listed else line
            sets[name] += tuple(e for e in (part.strip(' \t}"') for part in inner.split(",")) if e)
            open_elements = "}" not in inner
        elif loaded and _DROPS.match(line):
            drops += 1
    return Firewall(installed, loaded, digest, sets, drops, tuple(others), user, manager, quote)


PROBE = Probe(
    name="firewall",
    makes=Firewall,
    parse=parse,
    recognise=lambda text: any(line.startswith("== packet filter ") and _HEAD.match(line) for line in text.lines),
    asks=(
        Command(("sh", "-c", SCRIPT), "the packet filter that qops set, and who else filters", name="nft", root=True),
    ),
    families=("host",),
)
