"""SRV005: unified memory (GB10) is eaten by page cache, shared memory or a leak, and the GPU gets none."""

from collections.abc import Iterator

from qops.data.messages import engine, rdma
from qops.evidence.container import Containers
from qops.evidence.gpu import Gpus
from qops.evidence.kernel import AllLimits, KernelLog, Memory
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Fix, Found, RuledOut, rule
from qops.rules.nccl.memlock_too_small import known

# CUDA reports 119 to 122 GiB as the whole memory of a GB10; no board with memory of its own comes near.
UNIFIED_GIB = (115.0, 127.0)
HIGH_FRACTION = 0.8  # of a pool that the operating system lives in too (vendor guides for GB10 stay below it)


@rule(
    "SRV005",
    "gb10-unified-memory-oom",
    explains=(
        "host-oom-killer",
        "engine-core-failed",
        "cuda-error",
        "peer-closed-connection",
        "xid-event",
        "ib-completion-error",
    ),
    fix=(
        Fix(
            "give the KV cache a size in bytes instead of a fraction (`--kv-cache-memory-bytes`), or lower "
            "`--gpu-memory-utilization`: the fraction is taken of memory that the operating system uses too"
        ),
        Fix(
            "empty the page cache before the engine starts",
            kind="workaround",
            commands=("sync", "echo 3 | sudo tee /proc/sys/vm/drop_caches"),
        ),
    ),
)
def gb10_unified_memory_oom(
    logs: Logs,
    kernel: KernelLog | None,
    gpus: Gpus | None,
    memory: Memory | None,
    limits: AllLimits | None,
    containers: Containers | None,
) -> Iterator[Found | RuledOut]:
    """Unified memory is eaten by page cache, shared memory or a leak."""
    board = logs.find(engine.UNIFIED_BOARD)
    unified = bool(board) or any("GB10" in g.name for g in gpus.gpus) if gpus else bool(board)
    no_memory = logs.find(engine.NVRM_NO_MEMORY)
    sysmem = logs.find(engine.NVIDIA_SYSMEM)
    kills = kernel.oom_kills if kernel else ()
    start = logs.find(engine.STARTUP_MEMORY)
    unified = unified or any(UNIFIED_GIB[0] <= _gib(h.groups["total"]) <= UNIFIED_GIB[1] for h in start)
    nvrm = [h for h in no_memory if "NV_ERR_NO_MEMORY" in h.quote.text or "NVRM" in h.quote.text]
    if nvrm and (sysmem or kills):
        # The driver of a card with memory of its own does not ask the kernel for what does not fit there.
        yield Found(
            subject="host",
            message="the GPU driver got no memory from the kernel" + (", which then killed a process" if kills else ""),
            evidence=(*quotes(nvrm, 2), *quotes(sysmem, 1), *(k.quote for k in kills[:2])),
            confidence=Confidence.CERTAIN if unified else Confidence.LIKELY,
        )
    elif unified and (nvrm or kills or start):
        evidence = (*quotes(nvrm, 2), *(k.quote for k in kills[:2]), *quotes(start, 2))
        yield Found("host", "memory that CPU and GPU share ran out", evidence, Confidence.LIKELY)
    elif unified and _cache_fills(memory) and logs.find(engine.CUDA_OOM) and memory:
        text = "CUDA got no memory while the page cache holds most of the memory that CPU and GPU share"
        yield Found("host", text, (*quotes(logs.find(engine.CUDA_OOM), 2), memory.quote), Confidence.LIKELY)
    elif unified and memory and _full(memory) and (pinned := logs.find(rdma.MEMLOCK_VERBS)):
        small, _ = known(limits, containers)
        if small:
            yield RuledOut("the limit of locked memory is too small, which is enough of a reason", (small[0][1],))
            return
        # Page cache in blocks of the contiguous memory allocator cannot be pinned (traced in MiaAI-Lab#259).
        text = "memory could not be pinned for RDMA while hardly any is free of what CPU, GPU and page cache share"
        yield Found("host", text, (*quotes(pinned, 1), memory.quote), Confidence.LIKELY)
    elif unified and logs.find(engine.CUDA_OOM) and (asked := logs.find(engine.MEM_GET_INFO)):
        text = "CUDA had no memory left to answer how much is free: the memory that CPU and GPU share is full"
        yield Found("host", text, (*quotes(asked, 1), *quotes(logs.find(engine.CUDA_OOM), 1)), Confidence.LIKELY)
    elif unified and memory and _swapped_out(memory):
        text = "hardly any of the memory that CPU and GPU share is available, and the swap is full"
        yield Found("host", text, (*quotes(board, 1), memory.quote), Confidence.LIKELY)
    elif unified and (apart := logs.find(engine.UNBALANCED)):
        text = "the memory that CPU and GPU share is held on one host and not on the other: page cache or a leak"
        yield Found("host", text, (*quotes(board, 1), *quotes(apart, 1)), Confidence.POSSIBLE)
    elif unified:
        high = [h for h in logs.find(engine.MEMORY_FRACTION) if float(h.groups["value"]) > HIGH_FRACTION]
        if high and logs.find(engine.CUDA_OOM, engine.ENGINE_CORE_FAILED):
            text = f"the engine may take {high[0].groups['value']} of memory that the operating system lives in too"
            yield Found("engine", text, quotes(high), Confidence.POSSIBLE)
        elif out := logs.find(engine.CUDA_OOM):
            text = "CUDA got no memory on a machine whose GPU shares it with everything else that runs"
            yield Found("host", text, (*quotes(board, 1), *quotes(out, 2)), Confidence.POSSIBLE)


def _gib(figure: str) -> float:
    try:
        return float(figure)
    except ValueError:
        return 0.0


def _full(memory: Memory) -> bool:
    return memory.free is not None and memory.free < memory.total // 20


def _swapped_out(memory: Memory) -> bool:
    if memory.available is None or not memory.swap_total or memory.swap_free is None:
        return False
    return memory.available < memory.total // 20 and memory.swap_free < memory.swap_total // 20


def _cache_fills(memory: Memory | None) -> bool:
    return bool(
        memory and memory.cached and memory.free is not None and memory.cached > memory.total // 3 > memory.free
    )
