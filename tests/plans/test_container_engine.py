from typing import Any

import pytest
from msgspec.structs import replace

from qops.derive.derived import Derived
from qops.derive.hardware_class import HardwareClass
from qops.errors import UsageError
from qops.evidence.container_engine import ContainerEngine, DaemonFlag, DaemonJson, DockerInfo
from qops.evidence.kernel import System
from qops.evidence.packages import Package, Packages
from qops.evidence.text import Quote
from qops.plans import Plan
from qops.plans.container_engine import PLAN

ANY = Derived(HardwareClass.HGX, "a test")
QUOTE = Quote("container engine", 1, "== container engine")
IDLE = DockerInfo("29.1.3", ("runc",), ("/etc/cdi",), cgroup_driver="systemd")
THERE = ContainerEngine(
    docker="/usr/bin/docker", unit="loaded", active="active", enabled="enabled", started=100, info=IDLE, quote=QUOTE
)
UBUNTU = System(machine="x86_64", os="ubuntu 24.04")
DOCKER = Packages("dpkg", {"docker.io": Package("docker.io", "29.1.3-0ubuntu3~24.04.2")})
WHOLE = ('{"features": {"cdi": true},', '"log-opts": {"max-size": "100m", "max-file": "5"}}')


def _plan(
    engine: ContainerEngine | None = THERE,
    packages: Packages | None = DOCKER,
    system: System | None = UBUNTU,
    **options: Any,
) -> Plan:
    seen = {type(value): value for value in (engine, packages, system) if value is not None}
    return PLAN.make(seen, ANY, {**PLAN.defaults, **options})


def _json(*lines: str, modified: int = 50) -> DaemonJson:
    return DaemonJson(lines, Quote("/etc/docker/daemon.json", 1, lines[0]), modified)


def _with(engine: ContainerEngine = THERE, **changed: Any) -> ContainerEngine:
    return replace(engine, **changed)


BARE = ContainerEngine(unit="not-found", active="inactive", quote=QUOTE)
APT, DNF = Packages("dpkg"), Packages("rpm")


def test_a_bare_host_whose_distribution_has_a_docker_that_is_new_enough() -> None:
    plan = _plan(BARE, APT)
    assert plan.facts["packages"] == ["docker.io"]
    assert plan.facts["files"][-1]["merge"]["features"] == {"cdi": True}
    assert (plan.facts["key"], plan.facts["docker"], plan.refused) == ({}, "started", ())
    assert plan.differs


@pytest.mark.parametrize(
    ("system", "packages", "path", "line"),
    [
        (
            System(machine="x86_64", os="debian 12"),
            APT,
            "/etc/apt/sources.list.d/docker.list",
            "deb [arch=amd64 signed-by=/etc/apt/keyrings/docker.asc] https://download.docker.com/linux/debian bookworm"
            " stable\n",
        ),
        (
            System(machine="aarch64", os="rhel 9.6"),
            DNF,
            "/etc/yum.repos.d/docker-ce.repo",
            "baseurl=https://download.docker.com/linux/rhel/$releasever/$basearch/stable\n",
        ),
        (
            System(machine="x86_64", os="rocky 10.1"),
            DNF,
            "/etc/yum.repos.d/docker-ce.repo",
            "gpgkey=https://download.docker.com/linux/rhel/gpg\n",
        ),
    ],
)
def test_where_the_distribution_has_none_dockers_repository_comes(
    system: System, packages: Packages, path: str, line: str
) -> None:
    plan = _plan(BARE, packages, system)
    assert plan.facts["packages"][0] == "docker-ce"
    files = {file["dest"]: file for file in plan.facts["files"]}
    assert line in files[path]["content"]
    assert bool(plan.facts["key"]) is (packages is APT)


def test_rhel_gets_docker_started_at_boot_and_debian_does_it_itself() -> None:
    wants = "/etc/systemd/system/multi-user.target.wants/docker.service"
    rhel = _plan(BARE, DNF, System(machine="x86_64", os="rhel 9.6"))
    assert any(file["dest"] == wants for file in rhel.facts["files"])
    assert not any(file["dest"] == wants for file in _plan(BARE, APT).facts["files"])
    assert any(file["dest"] == wants for file in _plan(_with(enabled="disabled")).facts["files"])


def test_what_is_right_is_left() -> None:
    plan = _plan(_with(daemon_json=_json(*WHOLE)))
    assert not plan.differs
    assert (plan.facts["docker"], plan.notes, plan.refused) == ("", (), ())


def test_docker_is_restarted_only_while_nothing_runs() -> None:
    file = _json('{"debug": true}')
    assert _plan(_with(daemon_json=file)).facts["docker"] == "restarted"
    busy = _with(daemon_json=file, info=DockerInfo("29.1.3", running=2, live_restore=True))
    plan = _plan(busy)
    assert plan.facts["docker"] == ""
    assert "2 containers run" in plan.notes[0] and "live-restore is on" in plan.notes[0]
    assert _plan(busy, restart="true").facts["docker"] == "restarted"
    assert _plan(busy, restart="false").facts["docker"] == ""


def test_a_daemon_that_missed_the_last_change_is_restarted() -> None:
    plan = _plan(_with(daemon_json=_json(*WHOLE, modified=200)))
    assert (plan.differs, plan.facts["docker"]) == (True, "restarted")


def test_a_limit_that_is_there_stays_and_another_log_driver_gets_none() -> None:
    own = '{"features": {"cdi": true}, "log-opts": {"max-size": "1g", "max-file": "2"}}'
    assert not _plan(_with(daemon_json=_json(own))).differs
    plan = _plan(_with(daemon_json=_json('{"features": {"cdi": true}, "log-driver": "journald"}')))
    assert not plan.differs
    with pytest.raises(UsageError, match="journald"):
        _plan(_with(daemon_json=_json('{"log-driver": "journald"}')), log_max_size="5m")
    flag = DaemonFlag("log-driver", Quote("/etc/systemd/system/docker.service.d/a.conf", 2, "--log-driver=journald"))
    assert "log-opts" not in _plan(_with(flags=(flag,))).facts["files"][-1]["merge"]


def test_the_inventorys_own_keys_are_merged() -> None:
    plan = _plan(daemon={"registry-mirrors": ["https://mirror.example"], "features": {"buildkit": True}})
    merged = plan.facts["files"][-1]["merge"]
    assert merged["features"] == {"cdi": True, "buildkit": True}
    assert merged["registry-mirrors"] == ["https://mirror.example"]


def test_what_would_stop_docker_is_refused_with_file_and_line() -> None:
    (reason,) = _plan(_with(daemon_json=_json("{", '"a": 1', '"b": 2}'))).refused
    assert "/etc/docker/daemon.json:3 is no JSON" in reason
    flag = DaemonFlag("feature", Quote("/etc/systemd/system/docker.service.d/a.conf", 4, "--feature cdi=true"))
    (reason,) = _plan(_with(flags=(flag,))).refused
    assert "docker.service.d/a.conf:4" in reason


def test_hosts_clash_with_the_flag_of_the_packaged_unit() -> None:
    flag = DaemonFlag("H", Quote("/usr/lib/systemd/system/docker.service", 13, "ExecStart=/usr/bin/dockerd -H fd://"))
    (reason,) = _plan(_with(flags=(flag,)), daemon={"hosts": ["fd://"]}).refused
    assert reason.startswith("hosts is passed to dockerd by /usr/lib/systemd/system/docker.service:13")


def test_the_vendors_system_is_left_alone() -> None:
    plan = _plan(_with(vendor_image=True, daemon_json=_json("{,}")))
    assert (plan.settings, plan.refused, plan.facts["files"], plan.facts["packages"]) == ((), (), [], [])
    assert "/etc/dgx-release" in plan.notes[0]


@pytest.mark.parametrize(
    ("engine", "packages", "word"),
    [
        (_with(docker="/usr/bin/snap"), APT, "snap remove docker"),
        (_with(unit="masked", active="inactive"), DOCKER, "masked"),
        (THERE, Packages("dpkg", {"podman-docker": Package("podman-docker", "5.4.2")}), "podman-docker"),
    ],
)
def test_a_docker_that_is_none_is_refused(engine: ContainerEngine, packages: Packages, word: str) -> None:
    assert word in _plan(engine, packages).refused[0]


def test_podman_needs_no_daemon() -> None:
    plan = _plan(BARE, APT, System(machine="x86_64", os="debian 13"), kind="podman")
    assert (plan.facts["packages"], plan.facts["files"], plan.facts["docker"]) == (["podman"], [], "")
    assert _plan(BARE, APT, UBUNTU, kind="podman").refused


def test_serving_without_an_engine_is_unsafe() -> None:
    assert _plan(BARE, APT).unsafe
    assert not _plan().unsafe


def test_what_nobody_saw_is_unseen() -> None:
    assert _plan(packages=None).unseen == ("container engine",)
    silent = _with(info=DockerInfo(error="Cannot connect to the Docker daemon"))
    assert _plan(silent).unseen == ("docker.service",)


@pytest.mark.parametrize(
    "options",
    [{"kind": "lxc"}, {"source": "snap"}, {"daemon": ["x"]}, {"log_max_size": "10"}, {"log_max_files": "0"}],
)
def test_a_value_that_cannot_be_is_an_error(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        _plan(**options)
