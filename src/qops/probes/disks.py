"""Space on the host's filesystems."""

from collections.abc import Sequence

from qops.evidence.readiness import Disks, Filesystem
from qops.evidence.text import Text
from qops.pattern import lazy
from qops.probes.base import Command, Probe

# -l: a network filesystem that hangs would hang df with it, so of those only the place is told.
SCRIPT = """df -PTkl 2>/dev/null
awk '$3 ~ /^(nfs|cifs|smb|ceph|lustre|beegfs|gpfs|glusterfs|fuse[.])/ { print "on the network: " $2 }' /proc/mounts
true
"""
_HEAD = lazy(r"Filesystem\s+Type\s+1024-blocks\s+Used\s+Available\s+Capacity\s+Mounted on\s*$")
_ROW = lazy(
    r"\S.{0,200}?\s+([\w.\-]{1,30})\s+([0-9]{1,16})\s+[0-9]{1,16}\s+([0-9]{1,16})\s+(?:[0-9]{1,3}%|-)\s+(/.{0,500})$"
)
_NO_FILES = ("tmpfs", "devtmpfs", "squashfs", "efivarfs", "proc", "sysfs", "cgroup", "cgroup2", "iso9660")
_NETWORK = lazy(r"on the network: (/.{0,500})$")


def parse(texts: Sequence[Text]) -> Disks | None:
    """Return the filesystems of the first table."""
    for text in texts:
        found: list[Filesystem] = []
        network: list[str] = []
        head = False
        for index, line in enumerate(text.lines):
            if _HEAD.match(line):
                head = True
            elif far := _NETWORK.match(line):
                network.append(far[1])
            elif head and (row := _ROW.match(line)) and row[1] not in _NO_FILES:
                if row[1] == "overlay" and row[4] != "/":
                    continue  # a container's
                found.append(Filesystem(row[4], row[1], int(row[2]) << 10, int(row[3]) << 10, text.quote(index)))
        if head:
            return Disks(tuple(found), tuple(network))
    return None


PROBE = Probe(
    name="disks",
    makes=Disks,
    parse=parse,
    recognise=lambda text: any(line.startswith("Filesystem") and _HEAD.match(line) for line in text.lines),
    asks=(Command(("sh", "-c", SCRIPT), "the space on each filesystem", name="df -PTkl"),),
    families=("host",),
)
