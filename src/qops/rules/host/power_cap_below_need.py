"""HST054: a power limit far below the board's default, which nobody wrote down."""

from collections.abc import Iterator

from qops.derive import gpu_power, power_cap
from qops.evidence.gpu import Gpu, Gpus
from qops.evidence.intent import Intent
from qops.rule import Confidence, Fix, Found, Role, RuledOut, Severity, rule


@rule(
    "HST054",
    "power-cap-below-need",
    severity=Severity.WARNING,
    role=Role.CONTRIBUTING,
    fix=(
        Fix(
            "set the limit back to the board's default, or write down in the inventory that it is meant",
            commands=("nvidia-smi -q -d POWER", "sudo nvidia-smi -i INDEX -pl WATTS"),
            risk="the GPUs draw more: the power supply and the cooling must bear it",
            variable="gpu_power_limit",
            tag="gpu_power",
        ),
    ),
)
def power_cap_below_need(gpus: Gpus, intent: Intent | None) -> Iterator[Found | RuledOut]:
    """A power limit far below the board's default holds the clocks down, and nobody wrote down that it is meant."""
    low = [g for g in gpus.gpus if power_cap.is_low(g)]
    said = intent.settings if intent else {}
    chosen = [g for g in low if gpu_power.chosen(said, gpu_power.LIMIT, g) != "auto"]
    silent = [g for g in low if g not in chosen]
    if chosen and not silent:
        yield RuledOut("the inventory says what the power limit should be", (chosen[0].quote,))
    for limit, default in sorted({(g.power_limit, g.power_limit_default) for g in silent}):
        group = [g for g in silent if (g.power_limit, g.power_limit_default) == (limit, default)]
        yield _found(group, f"{limit:.0f} W", f"{default:.0f} W")


def _found(group: list[Gpu], limit: str, default: str) -> Found:
    at_limit = [g for g in group if "sw_power_cap" in g.throttle]
    names = f"GPU{'s' if len(group) > 1 else ''} {', '.join(str(g.index) for g in group)}"
    now = "which cuts the clocks now" if at_limit else "which cuts the clocks under load"
    return Found(
        subject=names,
        message=f"held to {limit}, {now}; the board's default is {default}, and no role of qops was told so",
        evidence=tuple(g.quote for g in (at_limit or group)[:2]),
        # That it slows the work is certain only for who knows the work.
        confidence=Confidence.LIKELY if at_limit else Confidence.POSSIBLE,
    )
