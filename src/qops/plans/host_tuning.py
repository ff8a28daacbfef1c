"""The plan of the role host_tuning: CPUs and memory."""

from qops.derive import cpu, host_tuning, sysctl
from qops.derive.derived import Derived
from qops.derive.hardware_class import HardwareClass
from qops.derive.setting import Setting, State
from qops.errors import UsageError
from qops.evidence.intent import Intent
from qops.evidence.kernel import CpuFrequency, Hugepages, Memory, Sysctls
from qops.plans.base import Options, Plan, RolePlan, Seen

_KEYS = {
    "governor": cpu.GOVERNOR,
    "swappiness": sysctl.SWAPPINESS,
    "numa_balancing": sysctl.NUMA_BALANCING,
    "hugepages": cpu.HUGEPAGES,
}


def make(seen: Seen, hardware: Derived[HardwareClass], options: Options) -> Plan:
    """Return the plan. UsageError for a value that cannot be."""
    own = {key: str(options[name]) for name, key in _KEYS.items() if str(options[name]) != "auto"}
    for key in (sysctl.SWAPPINESS, sysctl.NUMA_BALANCING):
        value = own.get(key, "0")
        if value != "leave" and not (value.isascii() and value.isdigit()):
            raise UsageError(f"{key} cannot be {value!r}", "give a whole number in quotes, auto or leave")
    settings = host_tuning.plan(hardware.value, seen.get(Sysctls), seen.get(CpuFrequency), seen.get(Hugepages), own)
    written = [s for s in settings if s.state in (State.SET, State.DIFFERS)]
    return Plan(
        settings=settings,
        facts={
            "written": [_plain(s) for s in written],
            "sysctls": [_plain(s) for s in written if s.path.startswith("/proc/sys/")],
        },
        intent=own,
    )


def _plain(setting: Setting) -> dict[str, str]:
    return {"key": setting.key, "path": setting.path, "value": setting.value, "because": setting.because}


PLAN = RolePlan(
    role="host_tuning",
    kinds=(Sysctls, CpuFrequency, Hugepages, Memory, Intent),
    defaults={"manage": True, **dict.fromkeys(_KEYS, "auto")},
    make=make,
)
