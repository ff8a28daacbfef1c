import pytest
from msgspec.structs import replace

from qops.derive.derived import Derived
from qops.derive.hardware_class import HardwareClass
from qops.derive.setting import State
from qops.errors import UsageError
from qops.evidence.gpu import DriverModule, Gpu, Gpus
from qops.evidence.power import ClockLocks
from qops.evidence.text import Quote
from qops.plans import Plan
from qops.plans.gpu_power import PLAN

QUOTE = Quote("nvidia-smi -q -x", 1, "<gpu>")
RTXPRO = Derived(HardwareClass.RTXPRO, "nvidia-smi shows 3 boards RTX PRO 6000 Blackwell")


def _gpu(index: int, edition: str, low: float, high: float) -> Gpu:
    return Gpu(
        index, QUOTE, f"NVIDIA RTX PRO 6000 Blackwell {edition}", f"00000000:{index + 1:02x}:00.0", f"GPU-0{index}",
        power_limit=high, power_limit_default=high, power_limit_min=low, power_limit_max=high, persistence=True,
        sm_clock_max=3090,
    )  # fmt: skip


MAXQ = "Max-Q Workstation Edition"
# Two of 300 W and one of 600 W in one host, as people build them.
MIXED = Gpus((_gpu(0, MAXQ, 250.0, 300.0), _gpu(1, MAXQ, 250.0, 300.0), _gpu(2, "Workstation Edition", 150.0, 600.0)))


def _plan(gpus: Gpus | None = MIXED, **options: object) -> Plan:
    seen = {ClockLocks: ClockLocks({}), DriverModule: DriverModule("595.58.03", True, QUOTE)}
    return PLAN.make({**seen, **({Gpus: gpus} if gpus else {})}, RTXPRO, {**PLAN.defaults, **options})


def _own(own: object) -> Plan:
    return PLAN.make({Gpus: MIXED, ClockLocks: ClockLocks({})}, RTXPRO, {**PLAN.defaults, "gpus": own})


def test_by_default_nothing_but_persistence_mode_is_set() -> None:
    plan = _plan()
    assert not plan.differs
    assert (plan.notes, plan.refused, plan.intent) == ((), (), {})
    assert [(g["persistence"], g["limit"], g["clocks"]) for g in plan.facts["gpus"]] == [("on", "-", "-")] * 3
    off = Gpus(tuple(replace(g, persistence=False) for g in MIXED.gpus))
    assert [s.key for s in _plan(off).settings if s.state is State.DIFFERS] == ["gpu.persistence of GPU 0-2"]


def test_one_number_for_boards_of_several_kinds() -> None:
    plan = _plan(limit="350")
    assert [g["limit"] for g in plan.facts["gpus"]] == ["300", "300", "350"]
    assert [str(s).partition(":")[0] for s in plan.settings if "limit" in s.key] == [
        "gpu.power_limit of GPU 0-1 = 300",
        "gpu.power_limit of GPU 2 = 350 (was 600)",
    ]
    (note,) = plan.notes
    assert note == (
        "GPU 0-1: 350 W was chosen, and RTX PRO 6000 Blackwell Max-Q Workstation Edition takes no more than 300 W: "
        "it gets 300 W"
    )
    assert plan.intent == {"gpu.power_limit": "350"}


def test_boards_by_name_address_and_uuid() -> None:
    own = {
        "Workstation": {"limit": 400},
        "Max-Q Workstation": {"limit": 260, "clocks": "600,2000"},
        "02:00.0": {"limit": 270},
    }
    plan = _own(own)
    # The longer name wins over the shorter, the address over both.
    assert [(g["limit"], g["clocks"]) for g in plan.facts["gpus"]] == [("260", "600,2000"), ("270", "-"), ("400", "-")]
    assert plan.intent == {
        "gpu.power_limit.GPU-00": "260",
        "gpu.clocks.GPU-00": "600,2000",
        "gpu.power_limit.GPU-01": "270",
        "gpu.power_limit.GPU-02": "400",
    }


def test_a_gpu_that_is_not_there_is_refused_and_a_name_is_not() -> None:
    assert _own({"Server": {"limit": 300}}).refused == ()
    for key in ("GPU-99", "0000:44:00.0"):
        (why,) = _own({key: {"limit": 300}}).refused
        assert f"no GPU of this host is {key}" in why


def test_a_limit_set_by_hand_is_told() -> None:
    by_hand = Gpus((replace(MIXED.gpus[2], power_limit=450.0),))
    plan = _plan(by_hand)
    assert not plan.differs
    assert "GPU 2: the power limit is 450 W: somebody set it" in plan.notes[0]
    assert _plan(by_hand, limit="leave").notes == ()


def test_a_board_without_a_limit_says_that_the_choice_has_no_effect() -> None:
    spark = Gpus((Gpu(0, QUOTE, "NVIDIA GB10", "0000000f:01:00.0", "GPU-10", persistence=True),))
    plan = _plan(spark, limit="200")
    assert plan.notes == ("GPU 0: GB10 has no power limit (N/A): what was chosen for it has no effect",)
    assert plan.facts["gpus"][0]["limit"] == "-"
    assert _plan(spark).notes == ()


def test_without_a_driver_nothing_is_set_and_with_a_silent_one_it_is_refused() -> None:
    none = PLAN.make({}, RTXPRO, PLAN.defaults)
    assert (none.settings, none.refused, none.facts) == ((), (), {"gpus": []})
    assert "no driver is loaded" in none.notes[0]
    assert "although the driver is loaded" in _plan(None).refused[0]


@pytest.mark.parametrize(
    "options",
    [
        {"limit": "much"},
        {"limit": "-5"},
        {"limit": "0"},
        {"limit": "²"},
        {"clocks": "2100,600"},
        {"clocks": "fast"},
        {"persistence": "maybe"},
        {"gpus": ["GPU-00"]},
        {"gpus": {"GPU-00": {"watts": 300}}},
        {"gpus": {"GPU-00": {}}},
    ],
)
def test_what_cannot_be_is_refused_by_name(options: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        PLAN.make({Gpus: MIXED}, RTXPRO, {**PLAN.defaults, **options})


@pytest.mark.parametrize(("given", "means"), [(True, "on"), (False, "off"), ("on", "on"), ("auto", "on")])
def test_persistence_as_yaml_makes_it(given: object, means: str) -> None:
    assert _plan(persistence=given).facts["gpus"][0]["persistence"] == means
