"""HST802: a GPU at full load is held at its power limit, as it should be."""

from collections.abc import Iterator

from qops.data.messages import system
from qops.derive import power_cap
from qops.evidence.gpu import Gpus
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Found, Role, Severity, rule

POWER_CAP, OTHERS = 0x4, 0xE8  # nvml.h: SwPowerCap; HwSlowdown, SwThermal, HwThermal, HwPowerBrake


@rule("HST802", "benign-sw-power-cap", role=Role.INFO, severity=Severity.INFO)
def benign_sw_power_cap(logs: Logs, gpus: Gpus | None) -> Iterator[Found]:
    """A GPU at full load is held at its power limit: that is how it should work."""
    if logs.find(system.THERMAL_ACTIVE, system.POWER_BRAKE):
        return
    capped = tuple(g for g in gpus.gpus if "sw_power_cap" in g.throttle) if gpus else ()
    if any(power_cap.is_low(g) for g in capped):
        return  # it works at its limit, and the limit is in question
    masks = tuple(
        h for h in logs.find(system.EVENT_MASK) if int(h.groups["mask"], 16) & (POWER_CAP | OTHERS) == POWER_CAP
    )
    hits = (*logs.find(system.SW_POWER_CAP), *masks)
    if any("thermal" in r or "brake" in r for g in capped for r in g.throttle) or not (capped or hits):
        return
    yield Found(
        subject=f"GPU {capped[0].index}" if capped else "GPU",
        message="the software power cap is active: the GPU works at its power limit",
        evidence=tuple(dict.fromkeys((*(q for g in capped[:1] for q in g.said("sw_power_cap")), *quotes(hits, 1)))),
        confidence=Confidence.CERTAIN,
    )
