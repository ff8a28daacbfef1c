"""HST814: NVIDIA's own diagnosis found nothing."""

from collections.abc import Iterator

from qops.data.messages import health
from qops.derive.soundness import alone
from qops.evidence.engine import EngineLogs
from qops.evidence.message import Logs, quotes
from qops.evidence.nccl import NcclLog
from qops.evidence.torch import TorchLog
from qops.rule import Confidence, Found, Role, Severity, rule


@rule("HST814", "diagnostic-passed", role=Role.INFO, severity=Severity.INFO)
def diagnostic_passed(
    logs: Logs, engines: EngineLogs | None, nccl: NcclLog | None, torch: TorchLog | None
) -> Iterator[Found]:
    """NVIDIA's diagnosis (dcgmi diag) ran, and all that it tested passed."""
    if not alone(logs, engines, nccl, torch):
        return
    ran, passed = logs.find(health.DIAGNOSED), logs.find(health.DIAGNOSIS_PASS)
    if ran and passed and not logs.find(health.DIAGNOSIS_OTHER):
        evidence = (*quotes(ran, 1), *quotes(passed, 1))
        yield Found("GPUs", f"dcgmi diag ran, and its {len(passed)} tests passed", evidence, Confidence.CERTAIN)
