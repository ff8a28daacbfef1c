"""HST091: a bridge between GPUs redirects peer traffic although it was to be cleared."""

from collections.abc import Iterator

from qops.derive import platform
from qops.evidence.intent import Intent
from qops.evidence.pcie import PcieTree
from qops.rule import Confidence, Fix, Found, Role, RuledOut, Severity, rule


@rule(
    "HST091",
    "bridge-redirects-again",
    severity=Severity.WARNING,
    role=Role.CONTRIBUTING,
    fix=(
        Fix(
            "run the unit that clears redirect; see in its log what it could not clear",
            commands=("systemctl restart qops-pcie-acs.service", "journalctl -b -u qops-pcie-acs.service"),
            risk="GPUs below these bridges reach each other without the IOMMU's check",
            variable="pcie_p2p_acs",
            tag="pcie_p2p",
        ),
    ),
)
def bridge_redirects_again(tree: PcieTree, intent: Intent | None) -> Iterator[Found | RuledOut]:
    """A bridge between GPUs redirects peer traffic although that was to be cleared."""
    cleared = (intent.settings.get("pcie.acs", "") if intent else "").split()
    for device in tree.devices:
        if device.address not in cleared or device.acs_quote is None:
            continue
        redirects = [bit for bit in device.acs if bit in platform.REDIRECT]
        if redirects:
            yield Found(
                subject=f"bridge {device.address}",
                message=f"it has {' and '.join(redirects)}, which were to be cleared: GPU traffic goes up to the root",
                evidence=(device.acs_quote,),
                confidence=Confidence.CERTAIN,
            )
