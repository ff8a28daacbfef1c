"""Ports that programs listen on."""

from collections.abc import Collection, Sequence

from qops.evidence.firewall import Listener, Listeners
from qops.evidence.text import Quote, Text
from qops.pattern import lazy
from qops.probes.base import Command, Probe

# A session tells the port on which SSH comes in even where systemd listens in its stead (ssh.socket).
# ss is asked once, since each time it looks at all files that processes have open.
SCRIPT = """command -v ss >/dev/null || exit 0
echo '== listening ports'
ss -Htuanp | awk '
  /^(tcp +LISTEN|udp +UNCONN) / { print; next }
  /^tcp +ESTAB .*"(sshd|dropbear)/ { sub(/^tcp +ESTAB +/, ""); sessions = sessions $0 "\\n" }
  END { printf "== ssh sessions\\n%s", sessions }'
systemctl show --property=Listen --value ssh.socket sshd.socket 2>/dev/null | grep Stream | sed 's/^/ssh.socket /'
true
"""

_MARK = "== listening ports"
_SESSIONS = "== ssh sessions"
# udp  UNCONN 0 0  127.0.0.53%lo:53  0.0.0.0:*  users:(("systemd-resolve",pid=471,fd=16))
_ROW = lazy(
    r"(tcp|udp)\s+(?:LISTEN|UNCONN)\s+[0-9]{1,10}\s+[0-9]{1,10}\s+(\S{1,80}):([0-9]{1,5})\s+\S{1,80}:\S{1,5}"
    r"(?:\s+users:\(\(\"([^\"]{1,64})\")?"
)
_SESSION = lazy(r"[0-9]{1,10}\s+[0-9]{1,10}\s+\S{1,80}:([0-9]{1,5})\s+\S{1,80}:[0-9]{1,5}\s+users:")
_SOCKET = lazy(r"ssh\.socket (?:\S{0,80}:)?([0-9]{1,5}) \(Stream\)")
_SSH = ("sshd", "dropbear")


def recognise(text: Text) -> bool:
    """Return whether `text` is the answer of this probe's script, or ss's table of listeners."""
    return any(_MARK in line or (line.startswith(("tcp ", "udp ")) and _ROW.match(line)) for line in text.lines)


def parse(texts: Sequence[Text]) -> Listeners | None:
    """Return the listeners of all texts; None when no text is about them."""
    found: list[Listener] = []
    sessions: dict[int, None] = {}
    first: Quote | None = None
    for text in texts:
        for index, line in enumerate(text.lines):
            if _MARK in line:
                first = first or text.quote(index)
            elif row := (_ROW.match(line) if line.startswith(("tcp ", "udp ")) else None):
                first = first or text.quote(index)
                address = row[2].split("%")[0].strip("[]")
                found.append(Listener(row[1], address, int(row[3]), text.quote(index), row[4] or ""))
            elif session := (_SESSION.match(line) or _SOCKET.match(line)):
                sessions[int(session[1])] = None
    return Listeners(tuple(found), _ssh(found, sessions), first) if first else None


def _ssh(found: Sequence[Listener], sessions: Collection[int]) -> tuple[int, ...]:
    """Return the ports of SSH itself.

    A session also listens, on this host alone, for what its user forwards, and connects from ports of its own:
    neither counts.
    """
    outside = [one for one in found if one.protocol == "tcp" and one.address not in ("127.0.0.1", "::1")]
    ports = (one.port for one in outside if one.process.startswith(_SSH) or one.port in sessions)
    return tuple(sorted(set(ports)))


PROBE = Probe(
    name="listeners",
    makes=Listeners,
    parse=parse,
    recognise=recognise,
    asks=(
        Command(
            ("sh", "-c", SCRIPT),
            "which programs listen on which ports, and where SSH comes in",
            name="ss -tulnp",
            root=True,
        ),
    ),
    families=("host",),
)
