"""HST061: the kernel swaps the engine's memory out sooner than it should."""

from collections.abc import Iterator

from qops.derive import host_tuning, sysctl
from qops.derive.hardware_class import hardware_class
from qops.derive.setting import State
from qops.evidence.gpu import Gpus
from qops.evidence.intent import Intent
from qops.evidence.kernel import Memory, Sysctls
from qops.evidence.pcie import PcieTree
from qops.evidence.text import Quote
from qops.rule import Confidence, Fix, Found, Role, RuledOut, Severity, rule


@rule(
    "HST061",
    "swappiness-too-high",
    severity=Severity.WARNING,
    role=Role.CONTRIBUTING,
    fix=(
        Fix(
            "lower vm.swappiness to the value that this class of host needs",
            commands=("ansible-playbook site.yml --tags host_tuning --limit HOST",),
            variable="host_tuning_swappiness",
            tag="host_tuning",
        ),
    ),
)
def swappiness_too_high(
    sysctls: Sysctls, memory: Memory | None, gpus: Gpus | None, pcie: PcieTree | None, intent: Intent | None
) -> Iterator[Found | RuledOut]:
    """The kernel swaps the engine's memory out sooner than it should."""
    hardware = hardware_class(gpus, pcie, intent).value
    chosen = intent.settings if intent else None
    setting = host_tuning.one(sysctl.SWAPPINESS, hardware, sysctls=sysctls, chosen=chosen)
    if setting is None or setting.state is not State.DIFFERS:
        return
    if not _higher(setting.current, setting.value):
        return
    quote = Quote(sysctls.source, 0, f"{sysctl.SWAPPINESS} = {setting.current}")
    if memory is not None and memory.swap_total == 0:
        yield RuledOut(f"{sysctl.SWAPPINESS} is {setting.current}, but there is no swap", (quote, memory.quote))
        return
    yield Found(
        subject="host",
        message=f"{sysctl.SWAPPINESS} is {setting.current} and should be {setting.value}: {setting.because}",
        evidence=(quote,),
        confidence=Confidence.CERTAIN if memory and memory.swap_total else Confidence.LIKELY,
    )


def _higher(current: str, wanted: str) -> bool:
    return all(t.isascii() and t.isdigit() and len(t) < 9 for t in (current, wanted)) and int(current) > int(wanted)
