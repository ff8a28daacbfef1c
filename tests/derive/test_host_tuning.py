import pytest
from msgspec.structs import replace

from qops.derive import host_tuning
from qops.derive.hardware_class import HardwareClass
from qops.derive.host_tuning import KEYS, plan
from qops.derive.setting import Setting, State
from qops.errors import UsageError
from qops.evidence.kernel import CpuFrequency, Hugepages, Sysctls

SYSCTLS = Sysctls({"vm.swappiness": "60", "kernel.numa_balancing": "1"}, (), "sysctl")
FREQUENCY = CpuFrequency({"powersave": 32}, ("performance", "powersave"), "intel_pstate")
HUGEPAGES = Hugepages("always", ("always", "madvise", "never"))
KNOWN = [c for c in HardwareClass if c is not HardwareClass.UNKNOWN]


def _planned(hardware: HardwareClass = HardwareClass.HGX, **changed: object) -> dict[str, Setting]:
    given = {"sysctls": SYSCTLS, "frequency": FREQUENCY, "hugepages": HUGEPAGES, "chosen": None, **changed}
    return {s.key: s for s in plan(hardware, **given)}  # type: ignore[arg-type]


@pytest.mark.parametrize("hardware", KNOWN)
def test_every_class_has_every_setting_with_a_reason(hardware: HardwareClass) -> None:
    settings = _planned(hardware)
    assert tuple(settings) == KEYS
    assert all(s.because and not s.because.endswith(".") for s in settings.values())


@pytest.mark.parametrize(
    ("hardware", "governor", "swappiness"),
    [
        ("spark", "", "10"),
        ("rtxpro", "performance", "1"),
        ("rtx5090", "performance", "10"),
        ("hgx", "performance", "1"),
    ],
)
def test_values_of_a_class(hardware: str, governor: str, swappiness: str) -> None:
    settings = _planned(HardwareClass(hardware))
    values = [settings[key].value for key in KEYS[:4]]
    assert values == [governor, swappiness, "0", "madvise"]


def test_an_unknown_class_has_no_plan() -> None:
    with pytest.raises(UsageError, match="unknown"):
        plan(HardwareClass.UNKNOWN, SYSCTLS, FREQUENCY, HUGEPAGES)
    assert host_tuning.one("vm.swappiness", HardwareClass.UNKNOWN, sysctls=SYSCTLS) is None


def test_the_governor_of_a_spark_is_left() -> None:
    setting = _planned(HardwareClass.SPARK, frequency=replace(FREQUENCY, autonomous=True))["cpu.governor"]
    assert setting.state is State.LEFT
    assert "left as it is (powersave)" in str(setting)
    off = _planned(HardwareClass.SPARK, frequency=replace(FREQUENCY, autonomous=False))["cpu.governor"]
    assert off.state is State.LEFT
    assert "boot with cppc_cpufreq.auto_sel_mode=1" in off.because


def test_what_differs_and_what_is_set() -> None:
    right = Sysctls({"vm.swappiness": "1", "kernel.numa_balancing": "1"}, (), "sysctl")
    settings = _planned(sysctls=right)
    assert settings["vm.swappiness"].state is State.SET
    assert settings["kernel.numa_balancing"].state is State.DIFFERS
    assert str(settings["kernel.numa_balancing"]).startswith("kernel.numa_balancing = 0 (was 1): ")


def test_a_key_that_the_kernel_does_not_have_is_absent() -> None:
    without = Sysctls({"vm.swappiness": "60"}, ("kernel.numa_balancing",), "sysctl")
    setting = _planned(sysctls=without)["kernel.numa_balancing"]
    assert setting.state is State.ABSENT
    assert "this host does not have it" in str(setting)


def test_without_cpufreq_there_is_no_governor_to_set() -> None:
    assert _planned(frequency=CpuFrequency({}))["cpu.governor"].state is State.ABSENT


def test_a_governor_that_the_driver_does_not_offer_is_absent() -> None:
    setting = _planned(frequency=CpuFrequency({"schedutil": 4}, ("powersave", "schedutil"), "acpi-cpufreq"))[
        "cpu.governor"
    ]
    assert setting.state is State.ABSENT
    assert "acpi-cpufreq offers powersave, schedutil" in setting.because


def test_two_governors_at_once_differ() -> None:
    mixed = replace(FREQUENCY, governors={"performance": 16, "powersave": 16})
    assert _planned(frequency=mixed)["cpu.governor"].state is State.DIFFERS


def test_a_kernel_without_hugepages() -> None:
    assert _planned(hugepages=Hugepages("", ()))["hugepages.enabled"].state is State.ABSENT


def test_what_was_not_asked_is_unseen() -> None:
    settings = _planned(sysctls=None, frequency=None, hugepages=None)
    assert [settings[key].state for key in KEYS] == [*[State.UNSEEN] * 4, *[State.LEFT] * 4, State.ABSENT]


def test_the_migration_cost_is_never_set() -> None:
    old = Sysctls({"kernel.sched_migration_cost_ns": "500000"}, (), "sysctl")
    setting = _planned(sysctls=old)["kernel.sched_migration_cost_ns"]
    assert (setting.state, setting.path) == (State.ABSENT, "")


def test_what_someone_chose_wins() -> None:
    chosen = {"vm.swappiness": "60", "cpu.governor": "leave", "hugepages.enabled": "never"}
    settings = _planned(chosen=chosen)
    assert settings["vm.swappiness"].state is State.SET
    assert settings["cpu.governor"].state is State.LEFT
    assert settings["hugepages.enabled"].value == "never"
    assert settings["vm.swappiness"].because == "the inventory says so"


@pytest.mark.parametrize("key", ["vm.nr_hugepages", "vm.min_free_kbytes", "kernel.panic", "kernel.panic_on_oops"])
def test_some_settings_are_a_choice_and_nothing_else(key: str) -> None:
    seen = Sysctls({**SYSCTLS.values, key: "0"}, (), "sysctl")
    assert _planned(sysctls=seen)[key].state is State.LEFT
    chosen = _planned(sysctls=seen, chosen={key: "10"})[key]
    assert (chosen.state, chosen.path) == (State.DIFFERS, "/proc/sys/" + key.replace(".", "/"))
