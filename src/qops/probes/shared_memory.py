"""The shared memory of processes: the size of its file system, its use, and NCCL segments left behind."""

from collections.abc import Sequence

from qops.evidence.kernel import SharedMemory
from qops.evidence.text import Quote, Text
from qops.pattern import lazy
from qops.probes.base import Command, Probe
from qops.probes.sizes import size

# NCCL unlinks a segment as soon as both sides have attached, so a name that stays was left by a process that died.
# Who holds one can be told only when every process is visible: as root in the first PID namespace (its inode is the
# kernel's PROC_PID_INIT_INO, 4026531836), or in a container whose /dev/shm is its own (mounted from `shm`).
SCRIPT = """df -k /dev/shm 2>/dev/null
grep ' /dev/shm ' /proc/mounts
set -- /dev/shm/nccl-*
[ -e "$1" ] || exit 0
[ "$(id -u)" = 0 ] || exit 0
[ "$(readlink /proc/self/ns/pid)" = 'pid:[4026531836]' ] || grep -q '^shm /dev/shm ' /proc/mounts || exit 0
held=$(cat /proc/[0-9]*/maps 2>/dev/null | grep -oE '/dev/shm/nccl-[A-Za-z0-9_-]+' | sort -u)
for f in "$@"; do
  case "$held" in *"$f"*) ;; *) echo "left behind: $f" ;; esac
done
"""

_WHERE = "/dev/shm"  # noqa: S108  # read, never written
_N = r"([0-9]{1,18}(?:\.[0-9]{1,3})?[KMGTP]?i?B?)"
_ROW = lazy(rf"^\s*\S{{1,80}}\s+{_N}\s+{_N}\s+{_N}\s+[0-9]{{1,3}}%\s+/dev/shm\s*$")
_MOUNT = lazy(r"^\s*\S{1,80} (?:on )?/dev/shm (?:type )?tmpfs \(?\S*?\bsize=([0-9]{1,18}[kmgKMG]?)\b")
_LEFT = lazy(r"^left behind: (/dev/shm/nccl-\S{1,80})\s*$")
_LISTED = lazy(r"^(?:[-rwxsStT.+]{10,11}\s.*\s|\s*(?:[0-9]{1,12}\s+)?)(?:/dev/shm/)?(nccl-[A-Za-z0-9_\-]{1,80})\s*$")
_LISTING = lazy(r"\b(?:ls|du)\b[^|]*/dev/shm")
_IN_CONTAINER = lazy(r"\b(?:docker|podman|kubectl|crictl)\s+exec\s+(?:-\S+\s+)*([\w.\-/]{1,80})\s.*(?:df|ls|mount)\b")


def recognise(text: Text) -> bool:
    """Return whether `text` shows /dev/shm as df, mount or ls do."""
    return any(
        _WHERE in line and (_ROW.match(line) or _MOUNT.match(line) or _LISTING.search(line)) for line in text.lines
    )


def parse(texts: Sequence[Text]) -> SharedMemory | None:
    """Return the smallest /dev/shm seen: a container's own counts before its host's."""
    found: list[SharedMemory] = []
    left: dict[str, None] = {}
    for text in texts:
        owner, listing, readable = text.subject or "host", False, False
        mounted: tuple[int, Quote] | None = None
        first = len(found)
        for index, line in enumerate(text.lines):
            if len(line) > 2000:
                continue
            if "exec" in line and (match := _IN_CONTAINER.search(line)):
                owner = match[1]
            if _LISTING.search(line):
                listing = True
            elif match := _ROW.match(line):
                total, used = (size(match[n], 1024) for n in (1, 2))
                found.append(SharedMemory(total, used, text.quote(index), owner=owner))
            elif match := _MOUNT.match(line):
                total = size(match[1])
                mounted = mounted or ((total, text.quote(index)) if total is not None else None)
            elif match := _LEFT.match(line):
                left[match[1]] = None
            elif listing and (match := _LISTED.match(line)):
                left[f"{_WHERE}/{match[1]}"] = None
                readable = True
        if len(found) == first and mounted:
            found.append(SharedMemory(mounted[0], None, mounted[1], owner=owner))
        elif len(found) == first and readable:
            index = next(i for i, line in enumerate(text.lines) if _LISTING.search(line))
            found.append(SharedMemory(None, None, text.quote(index), owner=owner))
    if not found:
        return None
    least = min(found, key=lambda s: s.size if s.size is not None else 1 << 62)
    return SharedMemory(least.size, least.used, least.quote, tuple(left), least.owner)


PROBE = Probe(
    name="shared_memory",
    makes=SharedMemory,
    parse=parse,
    recognise=recognise,
    asks=(
        Command(
            ("sh", "-c", SCRIPT),
            "the size and use of /dev/shm, and segments that dead jobs left",
            root=True,
            name="df /dev/shm",
        ),
    ),
)
