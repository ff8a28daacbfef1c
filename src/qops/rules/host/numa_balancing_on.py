"""HST062: the kernel unmaps the engine's pages to see who uses them."""

from collections.abc import Iterator

from qops.derive import host_tuning, sysctl
from qops.derive.hardware_class import hardware_class
from qops.derive.setting import State
from qops.evidence.gpu import Gpus
from qops.evidence.intent import Intent
from qops.evidence.kernel import Sysctls
from qops.evidence.pcie import PcieTree
from qops.evidence.text import Quote
from qops.rule import Confidence, Fix, Found, Role, Severity, rule


@rule(
    "HST062",
    "numa-balancing-on",
    severity=Severity.WARNING,
    role=Role.CONTRIBUTING,
    fix=(
        Fix(
            "switch automatic NUMA balancing off; the engine's processes are bound to nodes instead",
            commands=("ansible-playbook site.yml --tags host_tuning --limit HOST",),
            variable="host_tuning_numa_balancing",
            tag="host_tuning",
        ),
    ),
)
def numa_balancing_on(
    sysctls: Sysctls, gpus: Gpus | None, pcie: PcieTree | None, intent: Intent | None
) -> Iterator[Found]:
    """The kernel unmaps the engine's pages to see who uses them."""
    hardware = hardware_class(gpus, pcie, intent).value
    chosen = intent.settings if intent else None
    setting = host_tuning.one(sysctl.NUMA_BALANCING, hardware, sysctls=sysctls, chosen=chosen)
    if setting is None or setting.state is not State.DIFFERS or setting.current == "0":
        return
    yield Found(
        subject="host",
        message=f"{sysctl.NUMA_BALANCING} is {setting.current} and should be {setting.value}: {setting.because}",
        evidence=(Quote(sysctls.source, 0, f"{sysctl.NUMA_BALANCING} = {setting.current}"),),
        confidence=Confidence.CERTAIN,
    )
