"""NCL018: /dev/shm is too small, or too full, for NCCL's segments."""

from collections.abc import Iterator

from qops.data.messages import launch
from qops.data.messages import nccl as messages
from qops.evidence.container import Containers
from qops.evidence.gpu import Gpus
from qops.evidence.kernel import SharedMemory
from qops.evidence.message import Hit, Logs, quotes
from qops.evidence.text import Quote
from qops.rule import Confidence, Fix, Found, Role, RuledOut, Severity, rule

SMALL = 64 << 20  # bytes: what Docker gives a container that asks for nothing
FULL = 0.9  # of its size


@rule(
    "NCL018",
    "shm-too-small",
    explains=(
        "nccl-error",
        "job-failed",
        "rank-stopped",
        "peer-closed-connection",
        "collective-hang",
        "engine-core-failed",
    ),
    fix=(
        Fix(
            "give the container more: --ipc=host, or --shm-size=16g; in Kubernetes an emptyDir with medium Memory on "
            "/dev/shm",
            commands=("df -h /dev/shm", "ls -l /dev/shm"),
        ),
        Fix("remove segments that no process holds (nccl-*, psm_*, torch_*) when it is leftovers that fill it"),
    ),
)
def shm_too_small(
    logs: Logs, shm: SharedMemory | None, containers: Containers | None, gpus: Gpus | None
) -> Iterator[Found | RuledOut]:
    """Shared memory (/dev/shm) is too small for NCCL's segments."""
    said = logs.find(messages.SHM_EXTEND, messages.SHM_SEGMENT, messages.SHM_FALLOCATE, launch.SHM_FILE)
    told = [h for h in said if _no_space(h)]
    mute = _mute(said, logs)
    small = _small(shm, containers)
    if told:
        yield Found(
            "shared memory",
            f"no space is left in /dev/shm for a segment{_asked(told)}{_size(shm)}",
            (*quotes(told, 2), *small[:1]),
            Confidence.CERTAIN,
        )
    elif mute:
        if shm and shm.size and not small:
            yield RuledOut(f"it holds {shm.size >> 20} MiB and has room", (shm.quote,))
            return
        found = Confidence.CERTAIN if small else Confidence.LIKELY
        yield Found(
            "shared memory",
            f"a segment in /dev/shm cannot be extended{_asked(mute)}{_size(shm)}",
            (*quotes(mute, 2), *small[:1]),
            found,
        )
    elif (crash := logs.find(launch.SHM_BUS_ERROR)) and small:
        yield Found(
            "shared memory",
            f"a process died of a bus error, as it does when it writes beyond the room in /dev/shm{_size(shm)}",
            (*quotes(crash, 2), *small[:1]),
            Confidence.LIKELY,
        )
    elif crash and any("shared memory" in h.quote.text for h in crash):
        yield Found("shared memory", "a worker ran out of shared memory", quotes(crash, 2), Confidence.LIKELY)
    elif small and not said and gpus and len(gpus.gpus) > 1:
        yield Found(
            "shared memory",
            f"is too small for ranks whose GPUs cannot copy to each other directly{_size(shm)}",
            small[:1],
            Confidence.POSSIBLE,
            severity=Severity.WARNING,
            role=Role.CONTRIBUTING,
        )


def _no_space(hit: Hit) -> bool:
    error = hit.groups.get("error") or ("No space left" if hit.id == launch.SHM_FILE.id else "")
    return "No space left" in error


def _mute(said: tuple[Hit, ...], logs: Logs) -> list[Hit]:
    """Return the failures that name no error, unless CUDA refused the memory: then there was room for it."""
    refused = any(
        (h.groups.get("where") or "").rpartition("/")[2].startswith("shm") for h in logs.find(messages.CUDA_FAILURE)
    )
    return [
        h
        for h in said
        if not h.groups.get("error")
        and (
            h.id == messages.SHM_EXTEND.id
            or (h.id == messages.SHM_SEGMENT.id and h.groups["what"].lower() == "creating" and not refused)
        )
    ]


def _asked(hits: list[Hit]) -> str:
    sizes = [int(h.groups["size"]) for h in hits if len(h.groups.get("size") or "x" * 99) < 19]
    return f" of {sizes[0]} bytes" if sizes else ""


def _size(shm: SharedMemory | None) -> str:
    if shm is None or not shm.size:
        return ""
    leaked = f", {len(shm.leaked)} leftover segments in it" if shm.leaked else ""
    return f"; it has {shm.size >> 20} MiB{leaked}"


def _small(shm: SharedMemory | None, containers: Containers | None) -> tuple[Quote, ...]:
    found = []
    if shm and shm.size and (shm.size <= SMALL or (shm.used or 0) >= FULL * shm.size):
        found.append(shm.quote)
    for c in containers.containers if containers else ():
        if c.shm_size is not None and c.shm_size <= SMALL and c.ipc_mode != "host":
            found.append(c.quote)
    return tuple(found)
