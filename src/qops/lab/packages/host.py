"""What makes a host use the lab's repository, and only that: keyring and sources."""

from collections.abc import Iterator

from qops.lab import mirror
from qops.lab.images import Base
from qops.lab.packages import server, service, signing
from qops.lab.place import Place

KEYRING = "/etc/apt/keyrings/qops-lab.asc"

_SOURCES = """# The repositories of this practice lab. They need no network beyond the lab's own.
Types: deb
URIs: http://{host}/{vendor}/
Suites: ./
Signed-By: {keyring}

Types: deb
URIs: http://{host}/{debian}/
Suites: ./
Signed-By: {keyring}
"""
# Switched off: an update would ask a network that the lab may not have, and take ten times as long.
_MIRROR = """# Say `Enabled: yes` to install anything from Debian here, over the network.
Enabled: no
Types: deb
URIs: {mirror}
Suites: {suite}
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
"""


def files(place: Place, base: Base) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of what goes into a host."""
    alias = f"packages-{base.name}.{service.DOMAIN}"
    sources = _SOURCES.format(host=alias, vendor=server.VENDOR, debian=server.DEBIAN, keyring=KEYRING)
    yield "/etc/dpkg/dpkg.cfg.d/qops-lab", b"# a practice host is made anew after a power failure\nforce-unsafe-io\n"
    yield KEYRING, signing.public_key(place)
    yield "/etc/apt/sources.list.d/qops-lab.sources", sources.encode()
    yield "/etc/apt/sources.list", b"# see sources.list.d\n"
    archive = mirror.debian()
    if archive:
        switched_off = _MIRROR.format(mirror=archive, suite=base.suite)
        yield "/etc/apt/sources.list.d/debian.sources", switched_off.encode()
