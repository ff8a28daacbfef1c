"""How much memory an engine takes: a fraction of a board's own, bytes where GPU and processor share theirs."""

from collections.abc import Sequence
from dataclasses import dataclass

from qops.derive.hardware_class import HardwareClass
from qops.derive.nccl_environment import Choice
from qops.evidence.gpu import Gpu
from qops.evidence.kernel import Memory

GIB = 1 << 30
UNIFIED = frozenset({HardwareClass.SPARK})
# Margins of qops's own. The system's: the kernel, sshd, docker, the page cache that loading goes through, and what
# earlyoom wants free. The engine's: CUDA's context, graphs, activations of one prefill, compiled kernels.
_SYSTEM = 8 * GIB
_SYSTEM_SHARE = 10  # or a tenth of all memory, where that is more
_WORKSPACE = 8 * GIB
_LEAST = 2 * GIB  # of KV cache: less serves nobody

FRACTION = {"vllm": "--gpu-memory-utilization", "sglang": "--mem-fraction-static"}
BYTES = "--kv-cache-memory-bytes"
_DEFAULT = 0.9
SAID = "the recipe says so"


@dataclass(frozen=True, slots=True)
class Share:
    """What the engine is told, and why. `refused`: it cannot fit; `unseen`: what was not seen."""

    choices: tuple[Choice, ...]
    refused: str = ""
    unseen: str = ""
    notes: tuple[str, ...] = ()


def share(
    engine: str,
    hardware: HardwareClass,
    said: str | None,
    gpus: Sequence[Gpu],
    memory: Memory | None,
    weights: int | None,
) -> Share:
    """Return how much memory the engine takes.

    `said` is the fraction that the recipe gives; `weights` the bytes of the checkpoint, None where nobody knows yet.
    """
    if hardware in UNIFIED:
        return _unified(engine, memory, weights)
    flag = FRACTION[engine]
    if said is None and engine == "sglang":
        return Share((Choice(flag, None, "SGLang works it out of the board's memory and the batch"),))
    value = said or str(_DEFAULT)
    because = SAID if said else "releases of vLLM differ in their default (0.9, and 0.92 from 0.20.0)"
    return Share((Choice(flag, value, because),), notes=tuple(_held(engine, flag, value, gpus)))


def _held(engine: str, flag: str, value: str, gpus: Sequence[Gpu]) -> list[str]:
    """Say which GPUs are too full now: vLLM compares its fraction of all memory with what is free (request_memory)."""
    if engine != "vllm":
        return []
    found = []
    for gpu in gpus:
        if gpu.memory_total and gpu.memory_used and gpu.memory_used > (1 - float(value)) * gpu.memory_total:
            found.append(
                f"GPU {gpu.index} holds {gpu.memory_used / GIB:.1f} GiB now; with {flag} {value} vLLM starts only where"
                f" {float(value) * gpu.memory_total / GIB:.1f} of {gpu.memory_total / GIB:.1f} GiB are free"
            )
    return found


def _unified(engine: str, memory: Memory | None, weights: int | None) -> Share:
    flag = FRACTION[engine]
    if memory is None:
        unseen = "the size of main memory was not seen (/proc/meminfo)"
        return Share((Choice(BYTES if engine == "vllm" else flag, None, unseen),), unseen=unseen)
    total = memory.total
    reserve = max(_SYSTEM, total // _SYSTEM_SHARE)
    left = total - reserve - _WORKSPACE
    whole = f"GPU and processor share {total / GIB:.0f} GiB; {reserve / GIB:.0f} GiB stay for the system"
    if weights is not None and left - weights < _LEAST:
        return Share(
            (),
            refused=f"{whole} and {_WORKSPACE // GIB} for the engine's own work, so {weights / GIB:.0f} GiB of weights"
            " leave no room for a KV cache",
        )
    if engine == "sglang":
        value = f"{int(left / total * 100) / 100:.2f}"
        because = f"{whole}, {_WORKSPACE // GIB} for the engine's own work: weights and KV cache get the rest"
        return Share((Choice(flag, value, because, (memory.quote,)),))
    kv = (left - weights if weights is not None else left // 3) // GIB * GIB
    if weights is not None:
        because = f"{whole}, {_WORKSPACE // GIB} for the engine's own work, and {weights / GIB:.0f} for the weights"
    else:
        because = f"{whole}; how large the weights are is not known yet, so a third of the rest is the KV cache's"
    need = -(-((weights or 0) + kv + _WORKSPACE) * 100 // total) / 100
    why = "with the KV cache in bytes, vLLM only compares it with the memory that is free at start"
    return Share((Choice(BYTES, str(kv), because, (memory.quote,)), Choice(flag, f"{need:.2f}", why)))
