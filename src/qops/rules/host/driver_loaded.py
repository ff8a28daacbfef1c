"""HST811: the kernel loaded the NVIDIA module, and the driver complains of nothing."""

from collections.abc import Iterator

from qops.derive.soundness import alone
from qops.evidence.engine import EngineLogs
from qops.evidence.kernel import KernelLog
from qops.evidence.message import Logs
from qops.evidence.nccl import NcclLog
from qops.evidence.torch import TorchLog
from qops.rule import Confidence, Found, Role, Severity, rule


@rule("HST811", "driver-loaded", role=Role.INFO, severity=Severity.INFO)
def driver_loaded(
    log: KernelLog, logs: Logs | None, engines: EngineLogs | None, nccl: NcclLog | None, torch: TorchLog | None
) -> Iterator[Found]:
    """The kernel loaded the NVIDIA module, and the driver complains of nothing."""
    loads = [q for q in log.nvidia_loaded if "NVRM: " in q.text]
    if loads and not log.complaints and alone(logs, engines, nccl, torch):
        yield Found(
            subject="kernel",
            message="the NVIDIA module was loaded, and the driver complains of nothing in this log",
            evidence=(loads[-1],),
            confidence=Confidence.CERTAIN,
        )
