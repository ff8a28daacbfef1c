"""CUD802: PyTorch finds CUDA and a GPU."""

from collections.abc import Iterator

from qops.data.messages import health
from qops.derive.soundness import alone
from qops.evidence.engine import EngineLogs
from qops.evidence.message import Logs, quotes
from qops.evidence.nccl import NcclLog
from qops.evidence.torch import TorchLog
from qops.rule import Confidence, Found, Role, Severity, rule


@rule("CUD802", "torch-sees-gpu", role=Role.INFO, severity=Severity.INFO)
def torch_sees_gpu(
    logs: Logs, engines: EngineLogs | None, nccl: NcclLog | None, torch: TorchLog | None
) -> Iterator[Found]:
    """PyTorch finds CUDA and a GPU: driver and library fit each other."""
    if not alone(logs, engines, nccl, torch):
        return
    if hits := logs.find(health.TORCH_SEES_CUDA):
        yield Found("process", "PyTorch finds CUDA and a GPU", quotes(hits, 1), Confidence.CERTAIN)
