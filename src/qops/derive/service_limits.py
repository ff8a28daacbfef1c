"""What a container that serves may use, how long its engine may take, and how it is stopped."""

from qops.data import engines
from qops.derive.derived import Derived
from qops.derive.nccl_environment import Choice

GIB = 1 << 30
_IMAGES = 4 * GIB  # vLLM's --mm-processor-cache-gb, which is 4 by default (0.33.0, config/multimodal.py)
_DISK = 200_000_000  # bytes a second: a slow disk, or one that others use
_START = 600  # seconds for everything but reading weights: vLLM's own default of the whole
_STEP = 120  # seconds of one step of the model
_DRAIN = 60  # seconds in which open requests may end
_MARGIN = 30  # seconds more, before the container is killed
_DRAINS = "0.18.0"  # vLLM's --shutdown-timeout


def shared_memory(gpus: int, *, cached_images: bool) -> Derived[int]:
    """Return the bytes of the container's /dev/shm. It is a ceiling: what nobody writes takes no memory."""
    images = _IMAGES if cached_images else 0
    kept = " and 4 GiB of processed images" if images else ""
    if gpus == 1:
        return Derived(GIB + images, f"one GPU: a little for the processes to talk{kept}; Docker's 64 MiB are too few")
    size = (4 + 2 * gpus) * GIB + images
    return Derived(size, f"NCCL and the workers of {gpus} GPUs exchange data there{kept}; Docker's 64 MiB are too few")


def limits() -> tuple[Choice, ...]:
    """Return the ulimits of the container (NVIDIA's containers ask for the first two themselves)."""
    return (
        Choice("memlock", "-1", "memory that GPUs and network cards write to is locked"),
        Choice("stack", "67108864", "NVIDIA's containers ask for 64 MiB, for threads of libraries"),
        Choice("nofile", "1048576", "each connection is an open file, and vLLM warns of few"),
    )


def timeouts(engine: str, size: int, *, bound: bool) -> tuple[Choice, ...]:
    """Return the engine's time limits. `size` is the bytes of weights; `bound`: they are at most that many."""
    if engine == "sglang":
        because = "SGLang itself stops after 300 seconds in one step, and its /health generates"
        return (Choice("--watchdog-timeout", None, because),)
    seconds = -(-(_START + size // _DISK) // 60) * 60
    told = f"{'at most ' if bound else ''}{size / 1e9:.0f} GB of weights from a disk of {_DISK // 10**6} MB/s"
    return (
        Choice("VLLM_ENGINE_READY_TIMEOUT_S", str(seconds), f"{told} and {_START} s of compiling; 600 is the default"),
        Choice(
            "VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS",
            str(_STEP),
            "a hung engine answers /health with 200 until this is over; 300 is the default, and kernels that are"
            " compiled at their first use need more than seconds",
        ),
    )


def stopping(engine: str, version: str) -> tuple[Choice, Derived[int]]:
    """Return the engine's own drain, and after how many seconds it is killed. Neither engine always ends by itself."""
    if engine == "sglang":
        choice = Choice("--shutdown-timeout", None, "SGLang has none: it waits for open requests without a limit")
        return choice, Derived(_DRAIN + _MARGIN, "SGLang would wait for ever for an open request, or when it hangs")
    if engines.order(version) < engines.order(_DRAINS):
        choice = Choice("--shutdown-timeout", None, f"vLLM has it from {_DRAINS} on; before, open requests are cut off")
        return choice, Derived(_MARGIN, "vLLM ends at once, or never while it hangs")
    choice = Choice("--shutdown-timeout", str(_DRAIN), "open requests may end; the default cuts them off")
    because = f"{_DRAIN} seconds of draining and a margin; a client that stays, or a hang, would keep vLLM for ever"
    return choice, Derived(_DRAIN + _MARGIN, because)
