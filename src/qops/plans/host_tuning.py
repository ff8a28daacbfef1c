"""The plan of the role host_tuning: CPUs and memory, and what keeps the host reachable and on time."""

from collections.abc import Mapping, Sequence
from typing import Any

from qops.derive import container_engine, cpu, host_services, host_tuning, sysctl
from qops.derive.derived import Derived
from qops.derive.hardware_class import HardwareClass
from qops.derive.setting import Setting, State
from qops.errors import UsageError
from qops.evidence.container import Containers
from qops.evidence.container_engine import ContainerEngine
from qops.evidence.intent import Intent
from qops.evidence.kernel import CpuFrequency, Hugepages, Memory, Sysctls
from qops.evidence.services import Services
from qops.plans.base import Options, Plan, RolePlan, Seen
from qops.probes.services import OURS

_KERNEL = {
    "governor": cpu.GOVERNOR,
    "swappiness": sysctl.SWAPPINESS,
    "numa_balancing": sysctl.NUMA_BALANCING,
    "hugepages": cpu.HUGEPAGES,
    "nr_hugepages": sysctl.NR_HUGEPAGES,
    "min_free_kbytes": sysctl.MIN_FREE,
    "panic": sysctl.PANIC,
    "panic_on_oops": sysctl.PANIC_ON_OOPS,
}
_SERVICES = {
    "login_protection": host_services.PROTECTION,
    "watchdog": host_services.WATCHDOG,
    "earlyoom": host_services.EARLYOOM,
    "time_sync": host_services.TIME,
    "memlock": host_services.MEMLOCK,
}
_WORDS = {
    "login_protection": ("auto", "leave", "on"),
    "earlyoom": ("auto", "leave", "on", "off"),
    "time_sync": ("auto", "leave"),
    "memlock": ("auto", "leave", "unlimited"),
}
_LIMITS = "/etc/security/limits.d/90-qops-memlock.conf"
_WANTED_AT_BOOT = "/etc/systemd/system/multi-user.target.wants"


def make(seen: Seen, hardware: Derived[HardwareClass], options: Options) -> Plan:
    """Return the plan. UsageError for a value that cannot be."""
    own = {key: _value(name, options[name]) for name, key in {**_KERNEL, **_SERVICES}.items()}
    own = {key: value for key, value in own.items() if value != "auto"}
    kernel = host_tuning.plan(hardware.value, seen.get(Sysctls), seen.get(CpuFrequency), seen.get(Hugepages), own)
    services: Services | None = seen.get(Services)
    around = host_services.plan(hardware.value, services, own)
    written = [s for s in kernel if s.state in (State.SET, State.DIFFERS)]
    facts = _facts(services, {s.key: s for s in around}, own)
    return Plan(
        settings=(*kernel, *around),
        refused=_refused(seen, facts["packages"]),
        notes=tuple(_notes(services, own)),
        facts={
            "written": [_plain(s) for s in written],
            "sysctls": [_plain(s) for s in written if s.path.startswith("/proc/sys/")],
            "unit_differs": any(s.state is State.DIFFERS for s in kernel),
            **facts,
        },
        intent=own,
    )


def _value(name: str, given: Any) -> str:
    value = {True: "on", False: "off"}.get(given, str(given)) if isinstance(given, bool) else str(given)
    words = _WORDS.get(name)
    if words:
        if value not in words:
            raise UsageError(f"host_tuning_{name} cannot be {value!r}", f"give {', '.join(words)}")
    elif name not in ("governor", "hugepages") and value not in ("auto", "leave"):
        if not (value.isascii() and value.isdigit() and len(value) < 12):
            key = {**_KERNEL, **_SERVICES}[name]
            raise UsageError(f"{key} cannot be {value!r}", "give a whole number in quotes, auto or leave")
        if name == "watchdog" and not 20 <= int(value) <= 600:
            raise UsageError(f"the watchdog cannot wait {value} s", "give 20 to 600 seconds, auto or leave")
    return value


def _facts(services: Services | None, around: Mapping[str, Setting], own: Mapping[str, str]) -> dict[str, Any]:
    """Return what tasks need of the services: properties to set, files, packages, what to start and stop."""
    due = {key: s for key, s in around.items() if s.state is State.DIFFERS}
    watchdog, memlock = around[host_services.WATCHDOG], around[host_services.MEMLOCK]
    earlyoom = around[host_services.EARLYOOM]
    facts: dict[str, Any] = {
        "properties": [
            {"unit": key.split(" ")[0], "property": f"{key.split(' ')[1]}={s.value}"}
            for key, s in due.items()
            if " Memory" in key
        ],
        "packages": [],
        "manager": services.package_manager if services else "",
        "start": [],
        "stop": ["earlyoom.service"] if host_services.EARLYOOM in due and earlyoom.value == "off" else [],
        "watchdog": _plain(watchdog),
        "memlock": _plain(memlock),
        "earlyoom": earlyoom.value,
        "earlyoom_arguments": host_services.EARLYOOM_ARGUMENTS,
    }
    files = [
        _file(OURS, "watchdog.conf.j2", watchdog, own.get(host_services.WATCHDOG, "")),
        _file(_LIMITS, "memlock.conf.j2", memlock, own.get(host_services.MEMLOCK, "")),
    ]
    if host_services.TIME in due and services:
        package, unit = host_services.TIME_PACKAGES[services.package_manager]
        facts["packages"].append(package)
        facts["start"].append(unit)
    if earlyoom.value == "on":
        files.append({"dest": "/etc/default/earlyoom", "template": "earlyoom.j2"})
        if host_services.EARLYOOM in due:
            facts["packages"].append("earlyoom")
            facts["start"].append("earlyoom.service")
    if earlyoom.value == "off":
        files.append({"dest": f"{_WANTED_AT_BOOT}/earlyoom.service", "state": "absent"})
    return {**facts, "files": [file for file in files if file]}


def _file(dest: str, template: str, setting: Setting, wanted: str) -> dict[str, str]:
    """Return the role's own file of a setting as qops_files takes it; nothing where the inventory wants it left."""
    if setting.state in (State.SET, State.DIFFERS):
        return {"dest": dest, "template": template}
    return {} if setting.state is State.UNSEEN or wanted == "leave" else {"dest": dest, "state": "absent"}


def _refused(seen: Seen, packages: Sequence[str]) -> tuple[str, ...]:
    losing = container_engine.losing(seen.get(Containers), seen.get(ContainerEngine)) if packages else ()
    if not losing:
        return ()
    return (container_engine.reload_refusal(losing, f"the installation of {' and '.join(packages)}"),)


def _notes(services: Services | None, own: Mapping[str, str]) -> list[str]:
    if services is None:
        return []
    notes = []
    if host_services.is_pending(services):
        notes.append(
            f"the watchdog of {services.watchdog_configured} is armed at the next boot (or by systemctl daemon-reexec, "
            "which takes GPUs away from containers that got them by --gpus)"
        )
    oom = services.unit("earlyoom.service")
    if oom and oom.at_work and host_services.EARLYOOM not in own:
        notes.append("earlyoom runs, and may end the engine before memory is gone: say host_tuning_earlyoom: on or off")
    if services.synchronised is False and services.unit(*host_services.TIME_SERVICES):
        notes.append(
            "the kernel says that its clock is not synchronised: see `timedatectl timesync-status`, `chronyc tracking`"
        )
    return notes


def _plain(setting: Setting) -> dict[str, str]:
    return {"key": setting.key, "path": setting.path, "value": setting.value, "because": setting.because}


PLAN = RolePlan(
    role="host_tuning",
    kinds=(Sysctls, CpuFrequency, Hugepages, Memory, Intent, Services, Containers, ContainerEngine),
    defaults={"manage": True, **dict.fromkeys((*_KERNEL, *_SERVICES), "auto")},
    make=make,
)
