import pytest
from judging import found, judged, outcomes
from msgspec.structs import replace

from qops.evidence.gpu import Gpu, Gpus
from qops.evidence.power import ClockLocks
from qops.evidence.text import Quote
from qops.rule import RuledOut
from qops.rules.host.gb10_low_power_state import gb10_low_power_state

HELD = Gpu(
    0, Quote("nvidia-smi", 1, "row"), name="NVIDIA GB10", uuid="GPU-1", utilization=95, sm_clock=611, power=17.5,
    throttle=("idle",),
)  # fmt: skip


def test_busy_and_clocked_at_a_third() -> None:
    (one,) = found(gb10_low_power_state, Gpus((HELD,)))
    assert "95 % busy at 611 MHz and 17.5 W" in one.message


@pytest.mark.parametrize(
    "change",
    [{"utilization": 20}, {"sm_clock": 2400}, {"power": 58.0}, {"power": None}, {"name": "NVIDIA GeForce RTX 5090"}],
)
def test_others_are_left_alone(change: dict[str, object]) -> None:
    assert found(gb10_low_power_state, Gpus((replace(HELD, **change),))) == []


def test_a_reason_to_throttle_rules_it_out() -> None:
    hot = replace(HELD, throttle=("hw_thermal_slowdown",))
    (outcome,) = judged(gb10_low_power_state, Gpus((hot,))) or ()
    assert isinstance(outcome, RuledOut)


def test_clocks_that_somebody_locked_rule_it_out() -> None:
    (outcome,) = judged(gb10_low_power_state, Gpus((HELD,)), ClockLocks({"GPU-1": "300,600"})) or ()
    assert isinstance(outcome, RuledOut)
    assert found(gb10_low_power_state, Gpus((HELD,)), ClockLocks({"GPU-1": "unlocked"}))


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(gb10_low_power_state, {}) is None
