"""HST051: the board's power brake cuts the clocks."""

from collections.abc import Iterator

from qops.data.messages import system
from qops.evidence.gpu import Gpus
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Fix, Found, Severity, rule

POWER_BRAKE = 0x80  # nvml.h nvmlClocksEventReasonHwPowerBrakeSlowdown
REASON = "hw_power_brake_slowdown"


@rule(
    "HST051",
    "power-brake-slowdown",
    severity=Severity.WARNING,
    fix=(
        Fix(
            "check the power supply, its cables and the chassis' power limit",
            commands=("nvidia-smi -q -d PERFORMANCE,POWER",),
        ),
    ),
)
def power_brake_slowdown(logs: Logs, gpus: Gpus | None) -> Iterator[Found]:
    """The power brake cuts the clocks: something outside the GPU asks it to slow down."""
    braked = tuple(g for g in gpus.gpus if REASON in g.throttle) if gpus else ()
    hits = (
        *logs.find(system.POWER_BRAKE),
        *(h for h in logs.find(system.EVENT_MASK) if int(h.groups["mask"], 16) & POWER_BRAKE),
    )
    if braked or hits:
        yield Found(
            subject=f"GPU {braked[0].index} ({braked[0].name})" if braked else "GPU",
            message="the power brake is on: something outside the GPU asks it to slow down",
            evidence=tuple(dict.fromkeys((*(q for g in braked[:2] for q in g.said(REASON)), *quotes(hits, 2)))),
            confidence=Confidence.CERTAIN,
        )
