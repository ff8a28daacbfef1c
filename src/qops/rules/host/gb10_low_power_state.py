"""HST021: a GB10 is held in a low-power state: busy, and clocked at a third."""

from collections.abc import Iterator

from qops.evidence.gpu import Gpu, Gpus
from qops.evidence.power import ClockLocks
from qops.rule import Confidence, Fix, Found, RuledOut, rule

# Measured by users on the vendor's forum (threads 376039, 361294, 366590): 500 to 850 MHz and 15 to 20 W at 96 %,
# where a healthy one runs at 2000 MHz and more.
CLOCK = 900  # MHz
POWER = 25.0  # watts
BUSY = 90  # percent


@rule(
    "HST021",
    "gb10-low-power-state",
    fix=(
        Fix(
            "shut it down, take the power supply off the wall for a minute, and start it with the supply that came "
            "with it; a restart is not enough",
            commands=("nvidia-smi --query-gpu=clocks.sm,power.draw,utilization.gpu,pstate --format=csv",),
            risk="the host is off meanwhile",
        ),
    ),
)
def gb10_low_power_state(gpus: Gpus, locks: ClockLocks | None) -> Iterator[Found | RuledOut]:
    """A GB10 is held in a low-power state: busy, and clocked at a third."""
    for gpu in gpus.gpus:
        if "GB10" not in gpu.name or not _is_slow(gpu):
            continue
        why = [reason for reason in gpu.throttle if reason != "idle"]
        lock = locks.locks.get(gpu.uuid, "unlocked") if locks else "unlocked"
        if why or lock != "unlocked":
            because = (
                f"GPU {gpu.index} is held down for a reason: {', '.join(why) or f'clocks are locked at {lock} MHz'}"
            )
            yield RuledOut(because, (gpu.quote,))
            continue
        text = f"{gpu.utilization} % busy at {gpu.sm_clock} MHz and {gpu.power:g} W, and no reason to throttle is given"
        yield Found(f"GPU {gpu.index}", text, (gpu.quote,), Confidence.LIKELY)


def _is_slow(gpu: Gpu) -> bool:
    if gpu.utilization is None or gpu.sm_clock is None or gpu.power is None:
        return False
    return gpu.utilization >= BUSY and gpu.sm_clock <= CLOCK and gpu.power <= POWER
