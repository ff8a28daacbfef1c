"""HST063: memory is given out in transparent hugepages in another mode than the host needs."""

from collections.abc import Iterator

from qops.derive import cpu, host_tuning
from qops.derive.hardware_class import hardware_class
from qops.derive.setting import State
from qops.evidence.gpu import Gpus
from qops.evidence.intent import Intent
from qops.evidence.kernel import Hugepages
from qops.evidence.pcie import PcieTree
from qops.rule import Confidence, Fix, Found, Role, Severity, rule


@rule(
    "HST063",
    "thp-not-madvise",
    severity=Severity.WARNING,
    role=Role.CONTRIBUTING,
    fix=(
        Fix(
            "set transparent hugepages to the mode that this class of host needs",
            commands=("ansible-playbook site.yml --tags host_tuning --limit HOST",),
            variable="host_tuning_hugepages",
            tag="host_tuning",
        ),
    ),
)
def thp_not_madvise(
    hugepages: Hugepages, gpus: Gpus | None, pcie: PcieTree | None, intent: Intent | None
) -> Iterator[Found]:
    """Memory is given out in transparent hugepages in another mode than the host needs."""
    hardware = hardware_class(gpus, pcie, intent).value
    chosen = intent.settings if intent else None
    setting = host_tuning.one(cpu.HUGEPAGES, hardware, hugepages=hugepages, chosen=chosen)
    if setting is None or setting.state is not State.DIFFERS or hugepages.quote is None:
        return
    yield Found(
        subject="host",
        message=f"transparent hugepages are {setting.current} and should be {setting.value}: {setting.because}",
        evidence=(hugepages.quote,),
        confidence=Confidence.CERTAIN,
    )
