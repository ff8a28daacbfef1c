"""NCL014: the loaded NCCL predates the GPU's architecture."""

import re
from collections.abc import Iterator

from qops.data import nccl as facts
from qops.data.messages import cuda, launch
from qops.data.messages import nccl as messages
from qops.evidence.engine import EngineLogs, JobResults
from qops.evidence.gpu import Gpu, Gpus
from qops.evidence.message import Hit, Logs, quotes
from qops.evidence.nccl import NcclLog
from qops.pattern import lazy
from qops.rule import Confidence, Fix, Found, Role, RuledOut, Severity, rule

_BLACKWELL = lazy(r"RTX 50[5-9]0|RTX PRO \d{4}.*Blackwell|\bB[123]00\b|\bGB[123]\d{1,2}\b", re.IGNORECASE)
_TOOLKIT = lazy(r"\+cuda(\d{1,2})\.(\d{1,2})", re.ASCII)


@rule(
    "NCL014",
    "nccl-too-old-for-arch",
    explains=(
        "nccl-error",
        "collective-hang",
        "watchdog-timeout",
        "kernel-bug-illegal-access",
        "no-kernel-image-for-arch",
        "cuda-error",
        "job-failed",
        "engine-core-failed",
    ),
    fix=(
        Fix(
            "install an NCCL that was built with CUDA 12.8 or later (the version line says +cuda12.8 or more), in the "
            "same environment as PyTorch",
            commands=("python3 -c 'import torch; print(torch.cuda.nccl.version())'", "pip show nvidia-nccl-cu12"),
        ),
        Fix(
            "point the engine at a newer library: VLLM_NCCL_SO_PATH=/path/libnccl.so.2, or LD_PRELOAD",
            kind="workaround",
        ),
    ),
)
def nccl_too_old_for_arch(
    logs: Logs, gpus: Gpus | None, nccl: NcclLog | None, engines: EngineLogs | None, jobs: JobResults | None
) -> Iterator[Found | RuledOut]:
    """The loaded NCCL predates the GPU's architecture."""
    exceeded = logs.find(messages.SHARED_MEMORY_EXCEEDS)
    text, quote = next(
        (
            (q.text, q)
            for q in (
                *((nccl.version_quote,) if nccl and nccl.version_quote else ()),
                *(h.quote for h in logs.find(launch.PYNCCL_BANNER)),
            )
        ),
        ("", None),
    )
    match = re.search(r"(?:NCCL version |nccl==)(\d+\.\d+\.\d+)", text)
    version = facts.version_of(match.group(1)) if match else ()
    toolkit = _TOOLKIT.search(text)
    built = (int(toolkit.group(1)), int(toolkit.group(2))) if toolkit else None
    board = _board(gpus, logs)
    if exceeded:
        wants = exceeded[0].groups
        yield Found(
            "NCCL",
            f"its kernels want {wants['wanted']} bytes of shared memory where this GPU gives {wants['has']}: it was "
            "made before this architecture",
            (*quotes(exceeded, 1), *((quote,) if quote else ())),
            Confidence.LIKELY,
        )
        return
    if board is None or quote is None or not version:
        return
    needs = major(board)
    old_build = built is not None and built < facts.FIRST_TOOLKIT[needs]
    illegal = logs.find(cuda.ILLEGAL_ACCESS) if version[:2] == facts.ILLEGAL_ACCESS.get(needs) else ()
    if illegal and not old_build and logs.find(messages.CUDA_FAILURE, messages.UNHANDLED):
        yield Found(
            "NCCL",
            f"a kernel of NCCL {facts.written(version)} touched memory that is not its own, as that release is known "
            f"to on {board.name or 'this GPU'}",
            (quote, *quotes(illegal, 1), board.quote),
            Confidence.POSSIBLE,
        )
        return
    if not old_build and version >= facts.FIRST_RELEASE[needs]:
        return
    name = f"NCCL {facts.written(version)}" + (f" built with CUDA {built[0]}.{built[1]}" if built else "")
    failed: tuple[Hit, ...] = logs.find(messages.CUDA_FAILURE, messages.UNHANDLED)
    worked = any(j.exit_status == 0 or j.measured for j in (jobs.jobs if jobs else ()))
    if failed:
        yield Found(
            "NCCL",
            f"{name} holds no code for {board.name or 'this GPU'}, and a CUDA call of it failed",
            (quote, *quotes(failed, 1), board.quote),
            Confidence.LIKELY,
        )
    elif not worked:
        yield Found(
            "NCCL",
            f"{name} holds no code for {board.name or 'this GPU'}; nothing seen shows that it failed",
            (quote, board.quote),
            Confidence.POSSIBLE,
            severity=Severity.WARNING,
            role=Role.CONTRIBUTING,
        )


def _board(gpus: Gpus | None, logs: Logs) -> Gpu | None:
    """Return a board that needs a certain release: from nvidia-smi, or as nccl-tests names its devices."""
    seen = gpus.gpus if gpus and any(g.name or g.compute_capability for g in gpus.gpus) else ()
    tested = tuple(Gpu(int(h.groups["index"][:4]), h.quote, h.groups["name"].strip()) for h in _tested(logs))
    return next((g for g in (seen or tested) if major(g) in facts.FIRST_RELEASE), None)


def _tested(logs: Logs) -> tuple[Hit, ...]:
    return tuple(h for h in logs.find(launch.NCCL_TESTS_DEVICE) if h.groups.get("index"))


def major(gpu: Gpu) -> int:
    """Return the major compute capability of a GPU, from what it says or from its name; 0 when neither tells."""
    head = gpu.compute_capability.split(".")[0]
    if head.isdecimal():
        return int(head[:3])
    return 12 if _BLACKWELL.search(gpu.name) else 0
