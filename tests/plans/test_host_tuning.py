from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from qops.derive.derived import Derived
from qops.derive.hardware_class import HardwareClass
from qops.errors import UsageError
from qops.evidence.container import Container, Containers
from qops.evidence.kernel import CpuFrequency, Hugepages, Sysctls
from qops.evidence.services import Service, Services
from qops.evidence.text import Quote
from qops.plans import Plan
from qops.plans.host_tuning import PLAN

QUOTE = Quote("host services", 1, "== host services")
SPARK = Derived(HardwareClass.SPARK, "nvidia-smi shows 1 board GB10")
UNITS = {
    name: Service(name, loaded=True, active=True, enabled=True, memory_min=0, memory_low=0)
    for name in ("ssh.service", "user.slice", "system.slice", "chrony.service")
}
SERVICES = Services(
    UNITS, QUOTE, ("SBSA Generic Watchdog",), watchdog="0", synchronised=True, unified_cgroups=True,
    raises_limits=True, rdma_devices=("rocep1s0f0",), package_manager="dpkg",
)  # fmt: skip
KERNEL = {
    Sysctls: Sysctls({"vm.swappiness": "10", "kernel.numa_balancing": "0", "vm.nr_hugepages": "0"}, (), "sysctl"),
    CpuFrequency: CpuFrequency({"schedutil": 20}),
    Hugepages: Hugepages("madvise", ("always", "madvise", "never")),
}


def _plan(services: Services = SERVICES, extra: Mapping[type, object] = {}, **options: object) -> Plan:
    return PLAN.make({**KERNEL, Services: services, **extra}, SPARK, {**PLAN.defaults, **options})


def test_what_tasks_get_on_a_bare_spark() -> None:
    facts = _plan().facts
    assert [(p["unit"], p["property"]) for p in facts["properties"]] == [
        ("system.slice", "MemoryMin=512M"),
        ("ssh.service", "MemoryMin=512M"),
        ("user.slice", "MemoryLow=1G"),
    ]
    assert [f["dest"] for f in facts["files"]] == [
        "/etc/systemd/system.conf.d/90-qops-watchdog.conf",
        "/etc/security/limits.d/90-qops-memlock.conf",
    ]
    assert (facts["packages"], facts["start"], facts["stop"], facts["unit_differs"]) == ([], [], [], False)


def test_the_roles_own_files_go_when_nothing_wants_them_and_stay_when_the_inventory_says_so() -> None:
    plain = replace(SERVICES, watchdog_devices=(), rdma_devices=())
    assert [f.get("state") for f in _plan(plain).facts["files"]] == ["absent", "absent"]
    assert _plan(plain, watchdog="leave", memlock="leave").facts["files"] == []


def test_a_missing_clock_service_is_installed_and_started() -> None:
    facts = _plan(replace(SERVICES, units={})).facts
    assert (facts["packages"], facts["start"]) == (["systemd-timesyncd"], ["systemd-timesyncd.service"])
    facts = _plan(replace(SERVICES, units={}, package_manager="rpm")).facts
    assert (facts["packages"], facts["start"]) == (["chrony"], ["chronyd.service"])


def test_nothing_is_installed_under_containers_that_would_lose_their_gpus() -> None:
    docker = {Containers: Containers((Container("vllm", QUOTE, running=True, gpus_by="gpus"),))}
    (why,) = _plan(replace(SERVICES, units={}), docker).refused
    assert "the installation of systemd-timesyncd reloads systemd, and vllm would lose the GPUs" in why
    assert _plan(SERVICES, docker).refused == ()


def test_earlyoom_on_and_off() -> None:
    on = _plan(earlyoom="on").facts
    assert (on["packages"], on["start"]) == (["earlyoom"], ["earlyoom.service"])
    assert on["files"][-1] == {"dest": "/etc/default/earlyoom", "template": "earlyoom.j2"}
    running = replace(SERVICES, units={**UNITS, "earlyoom.service": Service("earlyoom.service", True, True, True)})
    assert _plan(running, earlyoom=True).facts["packages"] == []
    off = _plan(running, earlyoom=False).facts  # as YAML 1.1 reads a bare off
    assert off["stop"] == ["earlyoom.service"]
    assert off["files"][-1]["state"] == "absent"
    assert _plan(running).notes == (
        "earlyoom runs, and may end the engine before memory is gone: say host_tuning_earlyoom: on or off",
    )


def test_what_is_pending_and_what_is_wrong_is_told() -> None:
    (note,) = _plan(replace(SERVICES, watchdog_configured="60s")).notes
    assert note.startswith("the watchdog of 60s is armed at the next boot")
    (note,) = _plan(replace(SERVICES, synchronised=False)).notes
    assert "clock is not synchronised" in note


def test_kernel_settings_that_are_choices() -> None:
    plan = _plan(nr_hugepages="512", panic=10, panic_on_oops="1")
    assert [s["key"] for s in plan.facts["sysctls"]] == ["vm.swappiness", "kernel.numa_balancing", "vm.nr_hugepages"]
    assert plan.facts["unit_differs"]
    assert plan.unseen == ("kernel.panic", "kernel.panic_on_oops")
    assert plan.intent == {"vm.nr_hugepages": "512", "kernel.panic": "10", "kernel.panic_on_oops": "1"}


@pytest.mark.parametrize(
    "options",
    [{"watchdog": "5"}, {"watchdog": "soon"}, {"earlyoom": "maybe"}, {"time_sync": "ntpdate"}, {"panic": "-1"},
     {"nr_hugepages": "²"}, {"memlock": "64"}, {"login_protection": "off"}],
)  # fmt: skip
def test_what_cannot_be_is_refused(options: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        _plan(**options)
