"""HST813: docker knows NVIDIA's runtime."""

from collections.abc import Iterator

from qops.data.messages import health
from qops.derive.soundness import alone
from qops.evidence.engine import EngineLogs
from qops.evidence.message import Logs, quotes
from qops.evidence.nccl import NcclLog
from qops.evidence.torch import TorchLog
from qops.rule import Confidence, Found, Role, Severity, rule


@rule("HST813", "gpu-runtime-known", role=Role.INFO, severity=Severity.INFO)
def gpu_runtime_known(
    logs: Logs, engines: EngineLogs | None, nccl: NcclLog | None, torch: TorchLog | None
) -> Iterator[Found]:
    """The docker daemon answers, and knows the runtime nvidia."""
    if not alone(logs, engines, nccl, torch):
        return
    if hits := logs.find(health.GPU_RUNTIME):
        yield Found("docker", "the daemon answers, and knows the runtime nvidia", quotes(hits, 1), Confidence.CERTAIN)
