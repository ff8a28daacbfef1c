"""HST064: a GPU does not have the power limit, clocks or persistence mode that were chosen for it."""

from collections.abc import Iterator

from qops.derive import gpu_power
from qops.derive.setting import Setting, State
from qops.evidence.gpu import Gpu, Gpus
from qops.evidence.intent import Intent
from qops.evidence.power import ClockLocks
from qops.rule import Confidence, Fix, Found, Role, RuledOut, Severity, rule


@rule(
    "HST064",
    "gpu-power-drifted",
    severity=Severity.WARNING,
    role=Role.CONTRIBUTING,
    fix=(
        Fix(
            "set again what was chosen, and see why it was lost: another tool, or a driver that was loaded anew",
            commands=(
                "systemctl start qops-gpu-power",
                "journalctl -b -u qops-gpu-power -u nvidia-persistenced",
                "ansible-playbook site.yml --tags gpu_power --limit HOST",
            ),
            variable="gpu_power_limit",
            tag="gpu_power",
        ),
    ),
)
def gpu_power_drifted(gpus: Gpus, intent: Intent | None, locks: ClockLocks | None) -> Iterator[Found | RuledOut]:
    """A GPU does not have the power limit, clocks or persistence mode that were chosen for it."""
    if intent is None or "gpu_power" not in intent.roles:
        return  # nobody said how the GPUs should be
    for gpu in gpus.gpus:
        drifted = [s for s in _settings(gpu, intent.settings, locks) if s.state is State.DIFFERS]
        if drifted:
            told = ", ".join(
                f"{s.key.removeprefix('gpu.').replace('_', ' ')} {s.current or 'not set'} and not {s.value}"
                for s in drifted
            )
            yield Found(
                subject=f"GPU {gpu.index} ({gpu.bus_id})" if gpu.bus_id else f"GPU {gpu.index}",
                message=f"the role gpu_power was told otherwise: {told}",
                evidence=(gpu.quote,),
                confidence=Confidence.CERTAIN,
            )


def _settings(gpu: Gpu, settings: dict[str, str], locks: ClockLocks | None) -> tuple[Setting, ...]:
    limit = gpu_power.chosen(settings, gpu_power.LIMIT, gpu)
    clocks = gpu_power.chosen(settings, gpu_power.CLOCKS, gpu)
    mode = settings.get(gpu_power.PERSISTENCE, "auto")
    return (
        gpu_power.persistence(gpu, mode),
        gpu_power.power_limit(gpu, limit),
        gpu_power.clocks(gpu, clocks, locks),
    )
