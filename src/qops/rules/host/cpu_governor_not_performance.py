"""HST060: the CPUs' governor holds their clocks back."""

from collections.abc import Iterator

from qops.derive import cpu, host_tuning
from qops.derive.hardware_class import hardware_class
from qops.derive.setting import State
from qops.evidence.gpu import Gpus
from qops.evidence.intent import Intent
from qops.evidence.kernel import CpuFrequency
from qops.evidence.pcie import PcieTree
from qops.rule import Confidence, Fix, Found, Role, RuledOut, Severity, rule


@rule(
    "HST060",
    "cpu-governor-not-performance",
    severity=Severity.WARNING,
    role=Role.CONTRIBUTING,
    fix=(
        Fix(
            "give the CPUs the governor that this class of host needs",
            commands=("ansible-playbook site.yml --tags host_tuning --limit HOST",),
            variable="host_tuning_governor",
            tag="host_tuning",
        ),
    ),
)
def cpu_governor_not_performance(
    frequency: CpuFrequency, gpus: Gpus | None, pcie: PcieTree | None, intent: Intent | None
) -> Iterator[Found | RuledOut]:
    """The CPUs' governor holds their clocks back."""
    hardware = hardware_class(gpus, pcie, intent).value
    chosen = intent.settings if intent else None
    setting = host_tuning.one(cpu.GOVERNOR, hardware, frequency=frequency, chosen=chosen)
    if setting is None or frequency.quote is None:
        return
    if setting.state is State.LEFT:
        yield RuledOut(setting.because, (frequency.quote,))
    if setting.state is not State.DIFFERS:
        return
    counts = ", ".join(f"{name} on {count}" for name, count in sorted(frequency.governors.items()))
    yield Found(
        subject="CPUs",
        message=f"the CPUs' governor is not {setting.value} but {counts}: {setting.because}",
        evidence=(frequency.quote,),
        confidence=Confidence.CERTAIN,
    )
