"""HST815: the GPUs' PCIe links run as wide and as fast as the GPUs can."""

from collections.abc import Iterator

from qops.derive.soundness import alone
from qops.evidence.engine import EngineLogs
from qops.evidence.message import Logs
from qops.evidence.nccl import NcclLog
from qops.evidence.pcie import PcieTree
from qops.evidence.torch import TorchLog
from qops.rule import Confidence, Found, Role, Severity, rule


@rule("HST815", "pcie-link-full", role=Role.INFO, severity=Severity.INFO)
def pcie_link_full(
    pcie: PcieTree, logs: Logs | None, engines: EngineLogs | None, nccl: NcclLog | None, torch: TorchLog | None
) -> Iterator[Found]:
    """Every GPU's PCIe link runs as wide and as fast as the GPU can."""
    links = [d for d in pcie.gpus if d.width and d.width_max]
    if not links or len(links) < len(pcie.gpus) or not alone(logs, engines, nccl, torch):
        return
    if any(d.width != d.width_max or d.speed != d.speed_max for d in links):
        return
    if any(d.acs and set(d.acs) != {"SrcValid"} for d in pcie.devices):
        return  # what bridges do with traffic between GPUs is another matter, and may be the one
    first = links[0]
    yield Found(
        subject="host",
        message=f"the PCIe link of {first.address or 'the GPU'} runs at x{first.width} and {first.speed:g} GT/s",
        evidence=(first.link_quote or first.quote,),
        confidence=Confidence.CERTAIN,
    )
