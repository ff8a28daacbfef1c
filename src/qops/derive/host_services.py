"""What keeps a host reachable and on time: memory kept for logins, the watchdog, earlyoom, the clock, locked memory.

Sources, as far as no line below names another: a Spark under memory pressure stays alive as a kernel while its user
space is evicted, without an OOM kill and without a log (NVIDIA/open-gpu-kernel-modules#1358,
NVIDIA/dgx-spark-playbooks#97); what the driver allocates is charged to no cgroup, so that limits do not help.
"""

from collections.abc import Mapping

from qops.derive.derived import Derived
from qops.derive.hardware_class import HardwareClass
from qops.derive.setting import Setting, State, setting
from qops.evidence.services import Services

PROTECTION = "login.protection"
WATCHDOG = "systemd.watchdog"
EARLYOOM = "earlyoom"
TIME = "time.sync"
MEMLOCK = "login.memlock"

# Who keeps what. systemd.resource-control(5): a unit keeps no more than the slices above it, so those keep it too.
# 512 MiB for sshd: what owners of Sparks chose; user.slice has the shells that somebody needs to look around.
KEPT = (
    ("system.slice", "MemoryMin", 512 << 20),
    ("ssh", "MemoryMin", 512 << 20),
    ("user.slice", "MemoryLow", 1 << 30),
)
SSH = ("ssh.service", "sshd.service")
TIME_SERVICES = (
    "chrony.service", "chronyd.service", "systemd-timesyncd.service", "ntpsec.service", "ntp.service",
    "openntpd.service",
)  # fmt: skip
# By package manager: the package, and its service. chrony is RHEL's own choice, timesyncd Debian's and Ubuntu's.
TIME_PACKAGES = {"dpkg": ("systemd-timesyncd", "systemd-timesyncd.service"), "rpm": ("chrony", "chronyd.service")}
# 60 s: long against any pause of a working host; systemd tells the device every 30 s.
WATCHDOG_SECONDS = 60
# Acts when 2 % of memory are available and 80 % of swap are used (earlyoom 1.7 and later need both); says its state
# once an hour. The values of spark-arena/sparkrun.
EARLYOOM_ARGUMENTS = "-m 2 -s 80 -r 3600"

_CHOSEN = "the inventory says so"


def plan(hardware: HardwareClass, services: Services | None, chosen: Mapping[str, str]) -> tuple[Setting, ...]:
    """Return all settings; `chosen` maps a key to what the inventory wants instead of what is derived."""
    return (
        *_protection(hardware, services, chosen.get(PROTECTION, "auto")),
        watchdog(hardware, services, chosen.get(WATCHDOG, "auto")),
        earlyoom(services, chosen.get(EARLYOOM, "auto")),
        time_sync(services, chosen.get(TIME, "auto")),
        memlock(services, chosen.get(MEMLOCK, "auto")),
    )


def _protection(hardware: HardwareClass, services: Services | None, wanted: str) -> tuple[Setting, ...]:
    if wanted == "auto" and hardware is not HardwareClass.SPARK:
        return (_left(PROTECTION, "", "GPU memory is the boards' own here, and does not push logins out"),)
    if wanted == "leave":
        return (_left(PROTECTION, "", _CHOSEN),)
    why = _CHOSEN if wanted == "on" else "CPU and GPU share one memory: under pressure the kernel evicts logins first"
    if services is None:
        return (setting(PROTECTION, "on", None, why),)
    if services.unified_cgroups is False:
        return (_absent(PROTECTION, "cgroups of version 1 keep no memory for a unit"),)
    return tuple(_kept(services, name, what, size, why) for name, what, size in KEPT)


def _kept(services: Services, name: str, what: str, size: int, why: str) -> Setting:
    unit = services.unit(*(SSH if name == "ssh" else (name,)))
    if unit is None:
        return _absent(f"{name}.service {what}", "there is no such service")
    now = unit.memory_min if what == "MemoryMin" else unit.memory_low
    if name == "system.slice":
        why = "a unit keeps no more than the slice that it is in, and sshd is in this one"
    key = f"{unit.name} {what}"
    # More is as good: somebody chose it.
    enough = now is not None and now >= size
    return setting(key, _size(size), None if now is None else _size(size if enough else now), why)


def _size(value: int) -> str:
    for unit, letter in ((1 << 30, "G"), (1 << 20, "M")):
        if value and value % unit == 0:
            return f"{value // unit}{letter}"
    return str(value)


def watchdog(hardware: HardwareClass, services: Services | None, wanted: str) -> Setting:
    """Return systemd's RuntimeWatchdogSec as it is configured; it is in force after the next boot.

    `wanted` is "auto", "leave" or a number of seconds.
    """
    now = services.watchdog_configured if services else None
    if wanted == "leave":
        return _left(WATCHDOG, now or "", _CHOSEN)
    if wanted == "auto" and hardware is not HardwareClass.SPARK:
        return _left(WATCHDOG, now or "", "a host that hangs is its owner's to judge, unless the inventory says more")
    derived = Derived(f"{WATCHDOG_SECONDS}s", "a Spark out of memory hangs without a word; the watchdog restarts it")
    value = derived if wanted == "auto" else Derived(f"{wanted}s", _CHOSEN)
    if services is None:
        return setting(WATCHDOG, value.value, None, value.because)
    if not services.watchdog_devices:
        return _absent(WATCHDOG, "the kernel shows no watchdog device")
    others = now if now != services.watchdog_ours else "" if now else services.watchdog
    if wanted == "auto" and now != value.value and others not in ("", "0", "infinity"):
        return _left(WATCHDOG, others or "", "somebody set it already")
    return setting(WATCHDOG, value.value, now, value.because)


def is_pending(services: Services | None) -> bool:
    """Return whether a watchdog is configured and systemd, which reads its files at the boot, does not know yet."""
    return services is not None and bool(services.watchdog_configured) and services.watchdog == "0"


def earlyoom(services: Services | None, wanted: str) -> Setting:
    """Return whether earlyoom runs. `wanted` is "auto" (as it is), "leave", "on" or "off"."""
    unit = services.unit("earlyoom.service") if services else None
    now = None if services is None else "on" if unit and unit.at_work else "off"
    if wanted == "leave":
        return _left(EARLYOOM, now or "", _CHOSEN)
    if wanted == "auto":
        # MiaAI-Lab/DeepSeek-v4-Flash-DSpark-2x-DGX-Spark switches it off, spark-arena/sparkrun installs it.
        return _left(EARLYOOM, now or "", "it saves a shared machine, and ends the engine of a serving one too early")
    return setting(EARLYOOM, wanted, now, _CHOSEN)


def time_sync(services: Services | None, wanted: str) -> Setting:
    """Return which service keeps the clock; any will do. `wanted` is "auto" or "leave"."""
    why = "logs of several hosts are put in order by their clocks, and TLS and tokens fail with a wrong one"
    if services is None:
        return _left(TIME, "", _CHOSEN) if wanted == "leave" else setting(TIME, "on", None, why)
    at_work = next((n for n in TIME_SERVICES if (u := services.unit(n)) and u.at_work), "")
    if wanted == "leave":
        return _left(TIME, at_work, _CHOSEN)
    if at_work:
        return setting(TIME, at_work, at_work, why)
    _, service = TIME_PACKAGES.get(services.package_manager, ("", ""))
    if not service:
        return _absent(TIME, "neither dpkg nor rpm is there to install one")
    return setting(TIME, service, "", why)


def memlock(services: Services | None, wanted: str) -> Setting:
    """Return how much memory a login may lock. `wanted` is "auto", "leave" or "unlimited".

    Of logins alone: a container gets it by --ulimit memlock=-1 and a unit by LimitMEMLOCK, where it is started. A
    limit of dockerd or containerd would take their restart, and systemd's default would be every service's.
    """
    said = services.memlock if services else {}
    # "*" is everybody but root, whom pam_limits wants named.
    everybody = all(said.get(who) in ("unlimited", "infinity", "-1") for who in ("*", "root"))
    now = None if services is None else "unlimited" if everybody else ""
    if wanted == "leave":
        return _left(MEMLOCK, now or "", _CHOSEN)
    if services is not None and services.raises_limits is False:
        # pam_limits refuses the login of whom it cannot give what the file says.
        return _absent(MEMLOCK, "root may not lift a limit here (a container without CAP_SYS_RESOURCE)")
    if wanted == "unlimited":
        return setting(MEMLOCK, "unlimited", now, _CHOSEN)
    if services is not None and not services.rdma_devices:
        return _left(MEMLOCK, now or "", "without RDMA devices nothing here locks much memory")
    return setting(MEMLOCK, "unlimited", now, "RDMA locks the memory that it moves, NCCL some GB of it")


def _left(key: str, now: str, why: str) -> Setting:
    return Setting(key, "", "", now, State.LEFT, why)


def _absent(key: str, why: str) -> Setting:
    return Setting(key, "", "", "", State.ABSENT, why)
