import pytest
from msgspec.structs import replace

from qops.derive.gpu_power import chosen, clamped, clocks, persistence, power_limit
from qops.derive.setting import State
from qops.evidence.gpu import Gpu
from qops.evidence.power import ClockLocks
from qops.evidence.text import Quote

QUOTE = Quote("nvidia-smi -q -x", 1, "<gpu>")
SERVER = Gpu(
    0, QUOTE, "NVIDIA RTX PRO 6000 Blackwell Server Edition", uuid="GPU-01", persistence=False, power_limit=600.0,
    power_limit_default=600.0, power_limit_min=300.0, power_limit_max=600.0, sm_clock_max=2430,
)  # fmt: skip
GB10 = Gpu(0, QUOTE, "NVIDIA GB10", uuid="GPU-02", persistence=True, sm_clock_max=3003)


@pytest.mark.parametrize(
    ("wanted", "value", "state"),
    [
        ("280", "300", State.DIFFERS),
        ("350", "350", State.DIFFERS),
        ("600", "600", State.SET),
        ("900", "600", State.SET),
        ("default", "600", State.SET),
        ("auto", "", State.LEFT),
        ("leave", "", State.LEFT),
    ],
)
def test_a_limit_is_clamped_to_the_boards_own_range(wanted: str, value: str, state: State) -> None:
    found = power_limit(SERVER, wanted)
    assert (found.value, found.state, found.current) == (value, state, "600")
    assert clamped(SERVER, wanted) is (wanted in ("280", "900"))


def test_a_clamped_limit_says_why() -> None:
    because = power_limit(SERVER, "280").because
    assert because == "280 W was chosen, and RTX PRO 6000 Blackwell Server Edition takes no less than 300 W"


def test_a_board_without_a_limit_has_none_to_set() -> None:
    for wanted in ("auto", "default", "200"):
        assert power_limit(GB10, wanted).state is State.ABSENT
    assert clamped(GB10, "auto") is False


def test_a_limit_that_somebody_set_is_left_and_told() -> None:
    by_hand = power_limit(replace(SERVER, power_limit=450.0), "auto")
    assert (by_hand.state, by_hand.current) == (State.LEFT, "450")
    assert by_hand.because.startswith("somebody set it (600 W is the board's default)")
    assert "board's default" in power_limit(SERVER, "auto").because


def test_hundredths_of_a_watt_are_no_difference() -> None:
    assert power_limit(replace(SERVER, power_limit=350.02), "350").state is State.SET
    assert power_limit(replace(SERVER, power_limit=351.0), "350").state is State.DIFFERS


def test_a_range_that_the_driver_does_not_tell_clamps_nothing() -> None:
    bare = replace(SERVER, power_limit_min=None, power_limit_max=None)
    assert power_limit(bare, "280").value == "280"
    assert power_limit(replace(bare, power_limit_default=None), "default").state is State.UNSEEN
    assert power_limit(replace(SERVER, power_limit=None), "350").state is State.UNSEEN


def test_clocks_are_what_the_unit_remembers() -> None:
    locked = ClockLocks({"GPU-01": "600,2100"})
    assert clocks(SERVER, "600,2100", locked).state is State.SET
    assert clocks(SERVER, "600,2000", locked).state is State.DIFFERS
    assert clocks(SERVER, "600,2100", ClockLocks({})).state is State.DIFFERS
    assert clocks(SERVER, "600,2100", None).state is State.UNSEEN
    assert clocks(SERVER, "2000", locked).value == "2000,2000"


def test_clocks_above_the_boards_end_there() -> None:
    found = clocks(SERVER, "600,3000", ClockLocks({}))
    assert (found.value, found.because) == (
        "600,2430",
        "600,3000 MHz was chosen, and RTX PRO 6000 Blackwell Server Edition ends at 2430 MHz",
    )


def test_auto_undoes_what_the_role_locked_and_nothing_else() -> None:
    assert clocks(SERVER, "auto", ClockLocks({"GPU-01": "600,2100"})).value == "unlocked"
    for nothing in (ClockLocks({}), ClockLocks({"GPU-01": "unlocked"}), None):
        assert clocks(SERVER, "auto", nothing).state is State.LEFT
    assert clocks(SERVER, "leave", ClockLocks({"GPU-01": "600,2100"})).state is State.LEFT
    assert clocks(SERVER, "unlocked", ClockLocks({})).state is State.DIFFERS


@pytest.mark.parametrize(("wanted", "value"), [("auto", "on"), ("on", "on"), ("off", "off"), ("leave", "")])
def test_persistence(wanted: str, value: str) -> None:
    assert persistence(SERVER, wanted).value == value
    assert persistence(replace(SERVER, persistence=None), "on").state is State.UNSEEN


def test_a_choice_for_one_gpu_wins() -> None:
    said = {"gpu.power_limit": "400", "gpu.power_limit.GPU-01": "350"}
    assert chosen(said, "gpu.power_limit", SERVER) == "350"
    assert chosen(said, "gpu.power_limit", GB10) == "400"
    assert chosen({}, "gpu.power_limit", GB10) == "auto"
