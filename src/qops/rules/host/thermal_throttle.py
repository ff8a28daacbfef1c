"""HST013: a GPU's clocks are cut for heat."""

from collections.abc import Iterator

from qops.data.messages import device, health, system
from qops.evidence.gpu import Gpus
from qops.evidence.message import Hit, Logs, quotes
from qops.rule import Confidence, Fix, Found, Role, Severity, rule

# Counters run since the driver was loaded; below these a short peak is not worth a finding.
LEAST_HARDWARE_US, LEAST_SOFTWARE_US = 1_000_000, 10_000_000
SOFTWARE, HARDWARE = 0x20, 0x40  # nvml.h nvmlClocksEventReasonSwThermalSlowdown, …HwThermalSlowdown


@rule(
    "HST013",
    "thermal-throttle",
    severity=Severity.WARNING,
    fix=(
        Fix(
            "improve the cooling (fans, air path, paste, room); until then lower the power limit",
            commands=(
                "nvidia-smi -q -d TEMPERATURE,PERFORMANCE",
                "nvidia-smi --query-gpu=index,power.limit --format=csv",
            ),
        ),
    ),
)
def thermal_throttle(logs: Logs, gpus: Gpus | None) -> Iterator[Found]:
    """A GPU's clocks are cut for heat."""
    for gpu in gpus.gpus if gpus else ():
        reasons = [r for r in gpu.throttle if "thermal" in r]
        if reasons:
            clock = f", {gpu.sm_clock} of {gpu.sm_clock_max} MHz" if gpu.sm_clock and gpu.sm_clock_max else ""
            heat = f" at {gpu.temperature} C" if gpu.temperature is not None else ""
            yield Found(
                subject=f"GPU {gpu.index} ({gpu.name})",
                message=f"the clocks of GPU {gpu.index} are cut for heat{heat}{clock} ({', '.join(reasons)})",
                evidence=gpu.said(*reasons),
                confidence=Confidence.CERTAIN,
            )
            return
    now = (
        *logs.find(system.THERMAL_ACTIVE, device.DCGM_THERMAL),
        *(h for h in logs.find(system.EVENT_MASK) if int(h.groups["mask"], 16) & (SOFTWARE | HARDWARE)),
    )
    counted = tuple(
        h
        for h in logs.find(system.THERMAL_COUNTER)
        if _microseconds(h) >= (LEAST_HARDWARE_US if h.groups["which"].upper() == "HW" else LEAST_SOFTWARE_US)
    )
    if now or counted:
        idle = not now and bool(logs.find(health.THERMAL_INACTIVE)) and bool(logs.find(health.IDLE_STATE))
        seconds = _microseconds(counted[0]) // 1_000_000 if counted else 0
        yield Found(
            subject="GPU",
            message="the clocks are cut for heat"
            if now
            else f"the clocks were cut for heat for {seconds} s since the driver was loaded",
            evidence=quotes((*now, *counted), 3),
            confidence=Confidence.CERTAIN if now else Confidence.LIKELY,
            # Of a GPU that is idle and not held down, the counter tells of some day since the driver was loaded.
            severity=Severity.INFO if idle else None,
            role=Role.INFO if idle else None,
        )


def _microseconds(hit: Hit) -> int:
    return int(hit.groups["us"]) if "us" in hit.groups else int(float(hit.groups["seconds"]) * 1_000_000)
