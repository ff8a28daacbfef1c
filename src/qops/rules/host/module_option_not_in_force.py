"""HST092: an option of the driver's modules that was chosen is not in force."""

from collections.abc import Iterator

from qops.evidence.boot import PcieControl
from qops.evidence.gpu import DriverParams
from qops.evidence.intent import Intent
from qops.rule import Confidence, Fix, Found, Role, RuledOut, Severity, rule


@rule(
    "HST092",
    "module-option-not-in-force",
    severity=Severity.WARNING,
    role=Role.CONTRIBUTING,
    fix=(
        Fix(
            "reboot when nothing serves, or stop all GPU programs and load the modules anew: a loaded module "
            "takes no options",
            commands=("cat /proc/driver/nvidia/params", "grep -rs nvidia /etc/modprobe.d"),
            needs_reboot=True,
            variable="pcie_p2p_hmm",
            tag="pcie_p2p",
        ),
    ),
)
def module_option_not_in_force(
    control: PcieControl, params: DriverParams | None, intent: Intent | None
) -> Iterator[Found | RuledOut]:
    """An option of the driver's modules that was chosen for this host is not in force."""
    chosen = intent.settings if intent else {}
    hmm = chosen.get("module.nvidia_uvm.uvm_disable_hmm")
    if hmm is not None and control.hmm is not None and control.hmm is (hmm == "1"):
        yield Found(
            subject="nvidia_uvm",
            message=f"uvm_disable_hmm={hmm} was chosen, and the module was loaded with the opposite",
            evidence=(control.quote,),
            confidence=Confidence.CERTAIN,
        )
    words = chosen.get("module.nvidia.NVreg_RegistryDwords")
    if words is not None and params is not None:
        now = params.params.get("RegistryDwords", "")
        if now != words:
            yield Found(
                subject="nvidia",
                message=f"RegistryDwords={words} was chosen, and the module was loaded with {now or 'none'}",
                evidence=(control.quote,),
                confidence=Confidence.CERTAIN,
            )
