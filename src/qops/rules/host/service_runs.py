"""HST812: a service that GPUs and containers need runs."""

from collections.abc import Iterator

from qops.data.messages import health, system
from qops.derive.soundness import alone
from qops.evidence.engine import EngineLogs
from qops.evidence.message import Logs
from qops.evidence.nccl import NcclLog
from qops.evidence.torch import TorchLog
from qops.rule import Confidence, Found, Role, Severity, rule


@rule("HST812", "service-runs", role=Role.INFO, severity=Severity.INFO)
def service_runs(
    logs: Logs, engines: EngineLogs | None, nccl: NcclLog | None, torch: TorchLog | None
) -> Iterator[Found]:
    """Systemd shows a service that GPUs or containers need as running."""
    if not alone(logs, engines, nccl, torch):
        return
    units = {h.quote.source: h for h in logs.find(health.GPU_UNIT)}
    for state in () if logs.find(system.UNIT_INACTIVE) else logs.find(health.UNIT_RUNS):
        unit = units.get(state.quote.source)
        if unit and unit.quote.line < state.quote.line:
            yield Found("host", f"{unit.groups['unit']} runs", (unit.quote, state.quote), Confidence.CERTAIN)
            return
