import pytest
from msgspec.structs import replace

from qops.derive.hardware_class import HardwareClass
from qops.derive.host_services import (
    EARLYOOM,
    MEMLOCK,
    PROTECTION,
    TIME,
    WATCHDOG,
    earlyoom,
    is_pending,
    memlock,
    plan,
    time_sync,
    watchdog,
)  # fmt: skip
from qops.derive.setting import Setting, State
from qops.evidence.services import Service, Services
from qops.evidence.text import Quote

SPARK, RTXPRO = HardwareClass.SPARK, HardwareClass.RTXPRO
UNITS = {
    name: Service(name, loaded=True, active=True, enabled=True, memory_min=0, memory_low=0)
    for name in ("ssh.service", "user.slice", "system.slice", "systemd-timesyncd.service")
}
BARE = Services(
    UNITS, Quote("host services", 1, "== host services"), ("SBSA Generic Watchdog",), watchdog="0", synchronised=True,
    unified_cgroups=True, rdma_devices=("rocep1s0f0",), raises_limits=True, package_manager="dpkg",
)  # fmt: skip


def _with(services: Services = BARE, **changed: Service) -> Services:
    return replace(services, units={**services.units, **{u.name: u for u in changed.values()}})


def _planned(hardware: HardwareClass, services: Services | None = BARE, **chosen: str) -> dict[str, Setting]:
    keys = {"protection": PROTECTION, "watchdog": WATCHDOG, "earlyoom": EARLYOOM, "time": TIME, "memlock": MEMLOCK}
    return {s.key: s for s in plan(hardware, services, {keys[k]: v for k, v in chosen.items()})}


def test_a_bare_spark() -> None:
    due = {k: s.value for k, s in _planned(SPARK).items() if s.state is State.DIFFERS}
    assert due == {
        "system.slice MemoryMin": "512M",
        "ssh.service MemoryMin": "512M",
        "user.slice MemoryLow": "1G",
        WATCHDOG: "60s",
        MEMLOCK: "unlimited",
    }


def test_other_classes_keep_their_watchdog_and_their_logins() -> None:
    settings = _planned(RTXPRO, replace(BARE, rdma_devices=()))
    assert {k: s.state for k, s in settings.items()} == {
        PROTECTION: State.LEFT, WATCHDOG: State.LEFT, EARLYOOM: State.LEFT, TIME: State.SET, MEMLOCK: State.LEFT,
    }  # fmt: skip
    assert all(s.because and not s.because.endswith(".") for s in settings.values())


def test_everything_is_unseen_where_the_host_does_not_say() -> None:
    states = {k: s.state for k, s in _planned(SPARK, None).items()}
    assert [k for k, state in states.items() if state is not State.UNSEEN] == [EARLYOOM]
    assert states[EARLYOOM] is State.LEFT


def test_everything_can_be_left() -> None:
    words = dict.fromkeys(("protection", "watchdog", "earlyoom", "time", "memlock"), "leave")
    assert {s.state for s in _planned(SPARK, **words).values()} == {State.LEFT}


def test_more_memory_than_needed_is_as_good() -> None:
    more = _with(ssh=replace(UNITS["ssh.service"], memory_min=1 << 30))
    assert _planned(SPARK, more)["ssh.service MemoryMin"].state is State.SET
    less = _with(ssh=replace(UNITS["ssh.service"], memory_min=1 << 20))
    found = _planned(SPARK, less)["ssh.service MemoryMin"]
    assert (found.state, found.current) == (State.DIFFERS, "1M")


def test_rhel_calls_it_sshd() -> None:
    rhel = replace(BARE, units={"sshd.service": replace(UNITS["ssh.service"], name="sshd.service")})
    assert _planned(SPARK, rhel)["sshd.service MemoryMin"].state is State.DIFFERS


def test_cgroups_of_version_1_protect_nothing() -> None:
    assert _planned(SPARK, replace(BARE, unified_cgroups=False))[PROTECTION].state is State.ABSENT


def test_protection_as_a_choice_elsewhere() -> None:
    assert _planned(RTXPRO, protection="on")["user.slice MemoryLow"].because == "the inventory says so"


@pytest.mark.parametrize(
    ("services", "wanted", "state", "value"),
    [
        (BARE, "auto", State.DIFFERS, "60s"),
        (replace(BARE, watchdog_configured="60s"), "auto", State.SET, "60s"),
        (replace(BARE, watchdog_configured="60s"), "120", State.DIFFERS, "120s"),
        (replace(BARE, watchdog_devices=()), "auto", State.ABSENT, ""),
        (replace(BARE, watchdog="30s"), "auto", State.LEFT, ""),
        (replace(BARE, watchdog_configured="10min"), "auto", State.LEFT, ""),
        # What the role itself was told before, and is not any more.
        (
            replace(BARE, watchdog_configured="120s", watchdog_ours="120s", watchdog="2min"),
            "auto",
            State.DIFFERS,
            "60s",
        ),
    ],
)
def test_the_watchdog(services: Services, wanted: str, state: State, value: str) -> None:
    found = watchdog(SPARK, services, wanted)
    assert (found.state, found.value) == (state, value)


def test_a_watchdog_is_pending_until_systemd_knows() -> None:
    assert is_pending(replace(BARE, watchdog_configured="60s"))
    assert not is_pending(replace(BARE, watchdog_configured="60s", watchdog="1min"))
    assert not is_pending(BARE)


@pytest.mark.parametrize(
    ("wanted", "state"), [("auto", State.LEFT), ("leave", State.LEFT), ("on", State.DIFFERS), ("off", State.SET)]
)
def test_earlyoom_is_a_choice(wanted: str, state: State) -> None:
    assert earlyoom(BARE, wanted).state is state
    running = _with(oom=Service("earlyoom.service", loaded=True, active=True))
    assert earlyoom(running, "off").state is State.DIFFERS
    assert earlyoom(running, "auto").current == "on"


def test_any_service_that_keeps_the_clock_will_do() -> None:
    for name in ("chrony.service", "chronyd.service", "ntpsec.service"):
        other = replace(BARE, units={name: Service(name, loaded=True, enabled=True)})
        assert (time_sync(other, "auto").state, time_sync(other, "auto").value) == (State.SET, name)


@pytest.mark.parametrize(("manager", "service"), [("dpkg", "systemd-timesyncd.service"), ("rpm", "chronyd.service")])
def test_one_that_is_missing_is_the_systems_own(manager: str, service: str) -> None:
    none = replace(BARE, units={}, package_manager=manager)
    assert (time_sync(none, "auto").state, time_sync(none, "auto").value) == (State.DIFFERS, service)
    assert time_sync(replace(none, package_manager=""), "auto").state is State.ABSENT
    off = _with(replace(none), one=Service("chrony.service", loaded=True))
    assert time_sync(off, "auto").state is State.DIFFERS


def test_memlock_needs_root_named_too() -> None:
    assert memlock(replace(BARE, memlock={"*": "unlimited"}), "auto").state is State.DIFFERS
    assert memlock(replace(BARE, memlock={"*": "unlimited", "root": "-1"}), "auto").state is State.SET
    assert memlock(replace(BARE, raises_limits=False), "unlimited").state is State.ABSENT
    assert memlock(replace(BARE, rdma_devices=()), "unlimited").state is State.DIFFERS
