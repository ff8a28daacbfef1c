"""HST016: a filesystem is full."""

from collections.abc import Iterator

from qops.data.messages import system
from qops.evidence.message import Logs, quotes
from qops.evidence.readiness import Disks
from qops.rule import Confidence, Fix, Found, RuledOut, rule

FULL = 256 << 20  # bytes left: less than one layer of an image or one piece of a download
SMALL = 8 << 30  # bytes of a filesystem: a boot partition may be as full as it likes


@rule(
    "HST016",
    "disk-full",
    explains=("job-failed", "engine-core-failed", "engine-model-not-found", "program-failed", "weights-incomplete"),
    fix=(
        Fix(
            "make room: images that nothing runs, models that nothing serves, old logs",
            commands=("df -h", "docker system df", "du -xh --max-depth=2 /var/lib | sort -h | tail -n 20"),
        ),
        Fix("keep images and models on a larger disk (docker's data-root, model_store_root)"),
    ),
)
def disk_full(logs: Logs, disks: Disks | None) -> Iterator[Found | RuledOut]:
    """A filesystem is full."""
    full = [f for f in disks.filesystems if f.size >= SMALL and f.available < FULL] if disks else []
    said = logs.find(system.DISK_FULL)
    for one in full:
        yield Found(
            one.mount,
            f"{one.mount} is full: {_size(one.available)} of {_size(one.size)} are left",
            (*quotes(said, 2), one.quote),
            Confidence.CERTAIN,
        )
    if full or not said:
        return
    path = next((h.groups["path"] for h in said if h.groups.get("path")), "")
    there = disks.of(path) if disks and path else None
    if there:
        # Whoever failed may have removed what filled it.
        message = f"{there.mount} was full, and has {_size(there.available)} again"
        yield Found(there.mount, message, (*quotes(said, 3), there.quote), Confidence.LIKELY)
    else:
        # Without a path it may as well be /dev/shm, where semaphores lie.
        where = f", which {path} lies in," if path else ""
        yield Found(
            path or "disk",
            f"a filesystem{where} was full when a program wrote to it",
            quotes(said, 3),
            Confidence.LIKELY if path else Confidence.POSSIBLE,
        )


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"
