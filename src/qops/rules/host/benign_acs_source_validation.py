"""HST804: ACS checks the source of requests only, which does not redirect traffic between GPUs."""

from collections.abc import Iterator

from qops.evidence.pcie import PcieTree
from qops.rule import Confidence, Found, Role, Severity, rule

REDIRECTS = ("ReqRedir", "CmpltRedir", "EgressCtrl", "DirectTrans")


@rule("HST804", "benign-acs-source-validation", role=Role.INFO, severity=Severity.INFO)
def benign_acs_source_validation(pcie: PcieTree) -> Iterator[Found]:
    """ACS checks the source of requests only, which does not redirect traffic between GPUs."""
    active = tuple(d for d in pcie.devices if d.acs)
    if not active or any(bit in REDIRECTS for d in active for bit in d.acs):
        return
    yield Found(
        subject=f"{len(active)} PCIe functions",
        message="ACS validates sources and redirects nothing: traffic between GPUs goes the short way",
        evidence=tuple(d.acs_quote or d.quote for d in active[:1]),
        confidence=Confidence.CERTAIN,
    )
