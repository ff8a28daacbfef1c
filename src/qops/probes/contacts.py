"""Whether the host reaches mirrors, registries and the hub, over IPv4 and IPv6 apart."""

from collections.abc import Sequence

from msgspec.structs import replace

from qops.evidence.readiness import Contact, Contacts
from qops.evidence.text import Text
from qops.pattern import lazy
from qops.probes.base import Command, Probe

SECONDS = 3  # for one address; all are tried at once

# Python, since Ansible needs it on the host and a bare one has no curl. Names are looked up by threads that are left
# behind when the time is over: a resolver that does not answer must not hold up the rest.
SCRIPT = r"""
import os, socket, ssl, sys, threading, time
limit = float(sys.argv[1])
end = time.monotonic() + limit
told = {}
def reach(host, port, tls, family):
    try:
        found = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM)
    except OSError:
        return "no address"
    try:
        s = socket.socket(found[0][0], socket.SOCK_STREAM)
        s.settimeout(max(0.1, end - time.monotonic()))
        s.connect(found[0][4])
        if tls:
            ssl.create_default_context().wrap_socket(s, server_hostname=host)
        s.close()
    except ssl.SSLCertVerificationError as e:
        return "the certificate is not trusted: " + getattr(e, "verify_message", "")
    except socket.timeout:
        return "timed out"
    except ConnectionRefusedError:
        return "refused"
    except OSError as e:
        return (e.strerror or type(e).__name__).lower()
    return "ok"
def one(key):
    told[key] = reach(*key)
print("== contacts")
for name in ("https_proxy", "HTTPS_PROXY", "http_proxy"):
    if os.environ.get(name):
        print("proxy", os.environ[name].rpartition("@")[2].rpartition("//")[2])
        break
keys = []
for target in sys.argv[2:]:
    host, port, tls = target.rsplit(" ", 2)
    keys += [(host, int(port), tls == "tls", f) for f in (socket.AF_INET, socket.AF_INET6)]
threads = [threading.Thread(target=one, args=(key,), daemon=True) for key in keys]
for t in threads:
    t.start()
for t in threads:
    t.join(max(0.0, end + 0.3 - time.monotonic()))
for key in keys:
    family = "IPv4" if key[3] == socket.AF_INET else "IPv6"
    print("contact", key[0], key[1], family, told.get(key, "timed out"))
sys.stdout.flush()
os._exit(0)
"""
_RUN = 'for p in python3 /usr/libexec/platform-python; do command -v "$p" >/dev/null && exec "$p" -c "$0" "$@"; done\n'

_HEAD = "== contacts"
_LINE = lazy(r"contact (\S{1,255}) ([0-9]{1,5}) (IPv4|IPv6) (\S.{0,200}?)\s*$")
_PROXY = lazy(r"proxy (\S{1,255})\s*$")


def parse(texts: Sequence[Text]) -> Contacts | None:
    """Return what the first answer says."""
    for text in texts:
        if not any(line.startswith(_HEAD) for line in text.lines):
            continue
        found: list[Contact] = []
        proxy = ""
        for index, line in enumerate(text.lines):
            if said := _LINE.match(line):
                reason = "" if said[4] == "ok" else said[4]
                found.append(Contact(said[1], int(said[2]), said[3], reason, text.quote(index)))
            elif through := _PROXY.match(line):
                proxy = through[1]
        return Contacts(tuple(found), proxy)
    return None


PROBE = Probe(
    name="contacts",
    makes=Contacts,
    parse=parse,
    recognise=lambda text: any(line.startswith(_HEAD) for line in text.lines),
    asks=(),  # only who knows an inventory knows which addresses
    families=(),  # a plan's alone
)


def to(targets: Sequence[tuple[str, int, bool]]) -> Probe:
    """Return the probe that tries (name, port, whether by TLS). The whole takes little more than `SECONDS`."""
    told = tuple(f"{host} {port} {'tls' if tls else 'plain'}" for host, port, tls in targets)
    argv = ("sh", "-c", _RUN, SCRIPT, str(SECONDS), *told)
    return replace(
        PROBE, asks=(Command(argv, "whether the host reaches what the inventory names", 10.0, name="contacts"),)
    )
