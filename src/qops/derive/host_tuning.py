"""The plan for a host's CPUs and memory: each setting as it should be, as it is, and why."""

from collections.abc import Mapping
from typing import Any

from qops.derive import cpu, sysctl
from qops.derive.derived import Derived
from qops.derive.hardware_class import HardwareClass
from qops.derive.setting import Setting, State
from qops.errors import UsageError
from qops.evidence.kernel import CpuFrequency, Hugepages, Sysctls

GOVERNOR_FILES = "/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor"
HUGEPAGES_FILE = "/sys/kernel/mm/transparent_hugepage/enabled"
KEYS = (
    cpu.GOVERNOR,
    sysctl.SWAPPINESS,
    sysctl.NUMA_BALANCING,
    cpu.HUGEPAGES,
    *sysctl.CHOICES,
    sysctl.MIGRATION_COST,
)


def plan(
    hardware: HardwareClass,
    sysctls: Sysctls | None,
    frequency: CpuFrequency | None,
    hugepages: Hugepages | None,
    chosen: Mapping[str, str] | None = None,
) -> tuple[Setting, ...]:
    """Return all settings for a host of a class; `chosen` maps a key to the value that someone wants instead.

    UsageError for the class `unknown`: nothing is known of what such a host needs.
    """
    if hardware is HardwareClass.UNKNOWN:
        raise UsageError("the hardware class is unknown, so nothing can be derived for this host", "name its class")
    wanted = chosen or {}
    return (
        _governor(_or_chosen(cpu.governor(hardware, frequency), wanted.get(cpu.GOVERNOR)), frequency),
        _sysctl(sysctl.SWAPPINESS, _or_chosen(sysctl.swappiness(hardware), wanted.get(sysctl.SWAPPINESS)), sysctls),
        _sysctl(
            sysctl.NUMA_BALANCING,
            _or_chosen(sysctl.numa_balancing(hardware), wanted.get(sysctl.NUMA_BALANCING)),
            sysctls,
        ),
        _hugepages(_or_chosen(cpu.hugepages(hardware), wanted.get(cpu.HUGEPAGES)), hugepages),
        *(_sysctl(key, _or_chosen(sysctl.choice(key), wanted.get(key)), sysctls) for key in sysctl.CHOICES),
        Setting(sysctl.MIGRATION_COST, "", "", "", State.ABSENT, sysctl.MIGRATION_COST_GONE),
    )


def _or_chosen(derived: Derived[Any], chosen: str | None) -> Derived[str]:
    """Return what someone chose, or what was derived; "" stands for: leave it."""
    if chosen is None:
        return Derived("" if derived.value is None else str(derived.value), derived.because)
    if chosen == "leave":
        return Derived("", "the inventory says so")
    return Derived(chosen, "the inventory says so")


def _sysctl(key: str, wanted: Derived[str], sysctls: Sysctls | None) -> Setting:
    path = "/proc/sys/" + key.replace(".", "/")
    current = sysctls.values.get(key, "") if sysctls else ""
    absent = sysctls is not None and key in sysctls.absent
    return _setting(key, path, wanted, current, absent=absent, seen=bool(current))


def _governor(wanted: Derived[str], frequency: CpuFrequency | None) -> Setting:
    if frequency is None:
        return _setting(cpu.GOVERNOR, GOVERNOR_FILES, wanted, "", absent=False, seen=False)
    # With several governors at work the setting differs, whatever one of them is.
    current = ", ".join(sorted(frequency.governors))
    if not frequency.governors:
        none = Derived(wanted.value, "there is no cpufreq (a virtual machine, or the firmware keeps the clocks)")
        return _setting(cpu.GOVERNOR, GOVERNOR_FILES, none, "", absent=True, seen=True)
    missing = bool(wanted.value) and bool(frequency.available) and wanted.value not in frequency.available
    if missing:
        wanted = Derived(wanted.value, f"{frequency.driver or 'cpufreq'} offers {', '.join(frequency.available)}")
    return _setting(cpu.GOVERNOR, GOVERNOR_FILES, wanted, current, absent=missing, seen=True)


def _hugepages(wanted: Derived[str], hugepages: Hugepages | None) -> Setting:
    current = hugepages.enabled if hugepages else ""
    absent = hugepages is not None and wanted.value not in ("", *hugepages.choices)
    return _setting(cpu.HUGEPAGES, HUGEPAGES_FILE, wanted, current, absent=absent, seen=bool(current))


def _setting(key: str, path: str, wanted: Derived[str], current: str, *, absent: bool, seen: bool) -> Setting:
    if absent:
        state = State.ABSENT
    elif not wanted.value:
        state = State.LEFT
    elif not seen:
        state = State.UNSEEN
    else:
        state = State.SET if current == wanted.value else State.DIFFERS
    return Setting(key, path, wanted.value, current, state, wanted.because)


def one(
    key: str,
    hardware: HardwareClass,
    *,
    sysctls: Sysctls | None = None,
    frequency: CpuFrequency | None = None,
    hugepages: Hugepages | None = None,
    chosen: Mapping[str, str] | None = None,
) -> Setting | None:
    """Return one setting of the plan; None for a host of an unknown class."""
    if hardware is HardwareClass.UNKNOWN:
        return None
    return next(s for s in plan(hardware, sysctls, frequency, hugepages, chosen) if s.key == key)
