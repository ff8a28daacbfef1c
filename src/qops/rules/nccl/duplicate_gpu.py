"""NCL003: two ranks were given the same GPU."""

from collections.abc import Iterator

from qops.data.messages import nccl as messages
from qops.evidence.message import Logs, quotes
from qops.evidence.nccl import NcclLog
from qops.rule import Confidence, Fix, Found, RuledOut, rule


@rule(
    "NCL003",
    "duplicate-gpu",
    explains=(
        "nccl-error",
        "job-failed",
        "peer-closed-connection",
        "engine-core-failed",
    ),
    fix=(
        Fix(
            "give each local rank its own GPU: one rank per GPU, `torch.cuda.set_device(local_rank)` before the first "
            "collective, and a CUDA_VISIBLE_DEVICES that lists as many GPUs as the tensor-parallel size",
            commands=("nvidia-smi -L", "nvidia-smi --query-compute-apps=gpu_uuid,pid,name --format=csv"),
        ),
    ),
)
def duplicate_gpu(logs: Logs, nccl: NcclLog | None) -> Iterator[Found | RuledOut]:
    """Two ranks were given the same GPU."""
    seen: set[tuple[int, ...]] = set()
    for hit in logs.find(messages.DUPLICATE_GPU):
        a, b = sorted((int(hit.groups["a"][:9]), int(hit.groups["b"][:9])))
        if (a, b) in seen:
            continue
        seen.add((a, b))
        known = {r.rank: r.pid for r in (nccl.ranks if nccl else ()) if r.pid is not None}
        pids = f" (pids {known[a]} and {known[b]})" if a in known and b in known else ""
        yield Found(
            subject=f"ranks {a} and {b}{pids}",
            message=f"both use the GPU at {address(hit.groups['bus'])}",
            evidence=(hit.quote,),
            confidence=Confidence.CERTAIN,
        )
    others = logs.find(messages.SAME_GPU_PARTITION, messages.SAME_GPU_NVLS)
    if others and not seen:
        yield Found("job", "NCCL finds several ranks on one GPU", quotes(others, 2), Confidence.CERTAIN)


def address(bus: str) -> str:
    """Return NCCL's bus number (hexadecimal: domain, bus, device, function) as 0000:bb:dd.f."""
    value = int(bus[:12], 16)
    return f"{value >> 20:04x}:{value >> 12 & 0xFF:02x}:{value >> 4 & 0xFF:02x}.{value & 0xF:x}"
