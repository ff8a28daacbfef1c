from judging import diagnose, found, judged

from qops.evidence.gpu import Gpu, Gpus
from qops.evidence.intent import Intent
from qops.evidence.text import Quote
from qops.rule import Confidence, Role, RuledOut
from qops.rules.host.power_cap_below_need import power_cap_below_need as rule

QUOTE = Quote("nvidia-smi -q -x", 1, "<current_power_limit>")


def gpu(index: int, limit: float | None, default: float | None, *throttle: str) -> Gpu:
    return Gpu(
        index,
        QUOTE,
        uuid=f"GPU-0000000{index}-0000-0000-0000-000000000000",
        power_limit=limit,
        power_limit_default=default,
        throttle=throttle,
    )


def test_a_limit_far_below_the_default_is_found_for_all_gpus_at_once() -> None:
    (one,) = found(rule, Gpus((gpu(0, 200.0, 600.0), gpu(1, 200.0, 600.0), gpu(2, 600.0, 600.0))))
    assert one.subject == "GPUs 0, 1"
    assert "held to 200 W" in one.message
    assert "default is 600 W" in one.message
    assert one.confidence is Confidence.POSSIBLE


def test_gpus_that_work_at_the_limit_make_it_likely() -> None:
    (one,) = found(rule, Gpus((gpu(0, 400.0, 575.0, "sw_power_cap"),)))
    assert (one.subject, one.confidence) == ("GPU 0", Confidence.LIKELY)
    assert "cuts the clocks now" in one.message


def test_boards_with_other_limits_are_told_apart() -> None:
    told = found(rule, Gpus((gpu(0, 200.0, 600.0), gpu(1, 150.0, 300.0))))
    assert [one.subject for one in told] == ["GPU 1", "GPU 0"]


def test_a_limit_near_the_default_is_nobodys_fault() -> None:
    assert found(rule, Gpus((gpu(0, 450.0, 600.0), gpu(1, 600.0, 575.0)))) == []


def test_a_board_that_does_not_say_is_not_accused() -> None:
    assert found(rule, Gpus((gpu(0, None, None), gpu(1, 200.0, None), gpu(2, None, 600.0)))) == []


def test_what_the_inventory_chose_is_left_alone() -> None:
    gpus = Gpus((gpu(0, 300.0, 600.0), gpu(1, 300.0, 600.0)))
    for settings in (
        {"gpu.power_limit": "300"},
        {"gpu.power_limit": "leave"},
        {f"gpu.power_limit.{one.uuid}": "300" for one in gpus.gpus},
    ):
        (told,) = judged(rule, gpus, Intent(("gpu_power",), "rtxpro", settings)) or ()
        assert isinstance(told, RuledOut)
    other = Intent(("host_tuning",), "rtxpro", {"vm.swappiness": "10"})
    assert [one.subject for one in found(rule, gpus, other)] == ["GPUs 0, 1"]
    only_one = Intent(("gpu_power",), "rtxpro", {f"gpu.power_limit.{gpus.gpus[0].uuid}": "300"})
    assert [one.subject for one in found(rule, gpus, only_one)] == ["GPU 1"]


def test_it_is_read_from_what_nvidia_smi_prints_and_is_no_cause() -> None:
    asked = (
        "index, name, enforced.power.limit [W], power.default_limit [W], clocks_event_reasons.sw_power_cap\n"
        "0, NVIDIA H200, 250.00 W, 700.00 W, Active\n"
        "1, NVIDIA H200, 700.00 W, 700.00 W, Not Active\n"
    )
    report = diagnose({"smi.csv": asked})
    (one,) = [f for f in report.findings if f.code == "HST054"]
    assert (one.subject, one.role) == ("GPU 0", Role.CONTRIBUTING)
    assert "benign-sw-power-cap" not in [f.cause for f in report.findings]


def test_nothing_seen_is_unknown() -> None:
    assert judged(rule) is None
