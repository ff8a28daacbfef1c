from judging import outcomes

from qops.rule import RuledOut
from qops.rules.host.cpu_governor_not_performance import cpu_governor_not_performance

H200 = "GPU 0: NVIDIA H200 (UUID: GPU-0a0a0a0a-0000-0000-0000-000000000001)\n"
SPARK = "GPU 0: NVIDIA GB10 (UUID: GPU-0a0a0a0a-0000-0000-0000-000000000002)\n"
OTHER = "GPU 0: NVIDIA L40S (UUID: GPU-0a0a0a0a-0000-0000-0000-000000000003)\n"
AT = "/sys/devices/system/cpu/cpu"
SLOW = f"{AT}0/cpufreq/scaling_governor:powersave\n{AT}1/cpufreq/scaling_governor:powersave\n"


def test_a_governor_that_waits() -> None:
    (found,) = outcomes(cpu_governor_not_performance, {"smi.txt": H200, "freq.txt": SLOW}) or ()
    assert "not performance but powersave on 2" in found.message  # type: ignore[union-attr]


def test_look_alike_performance() -> None:
    fast = SLOW.replace("powersave", "performance")
    assert outcomes(cpu_governor_not_performance, {"smi.txt": H200, "freq.txt": fast}) == ()


def test_look_alike_a_spark_chooses_by_itself() -> None:
    seen = {"smi.txt": SPARK, "freq.txt": SLOW + "/sys/module/cppc_cpufreq/parameters/auto_sel_mode:1\n"}
    (found,) = outcomes(cpu_governor_not_performance, seen) or ()
    assert isinstance(found, RuledOut)


def test_look_alike_the_driver_does_not_offer_it() -> None:
    only = f"{AT}0/cpufreq/scaling_governor:schedutil\n{AT}0/cpufreq/scaling_available_governors:schedutil powersave\n"
    assert outcomes(cpu_governor_not_performance, {"smi.txt": H200, "freq.txt": only}) == ()


def test_look_alike_the_inventory_chose_it() -> None:
    chosen = '{"qops_role": "host_tuning", "hardware_class": "", "settings": {"cpu.governor": "powersave"}}'
    assert outcomes(cpu_governor_not_performance, {"smi.txt": H200, "freq.txt": SLOW, "i.json": chosen}) == ()


def test_hardware_that_is_not_known_is_not_judged() -> None:
    assert outcomes(cpu_governor_not_performance, {"smi.txt": OTHER, "freq.txt": SLOW}) == ()


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(cpu_governor_not_performance, {"smi.txt": H200}) is None
