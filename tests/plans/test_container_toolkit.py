from typing import Any

import pytest

from qops.data.container_toolkit import PACKAGES
from qops.derive.derived import Derived
from qops.derive.hardware_class import HardwareClass
from qops.derive.setting import State
from qops.errors import UsageError
from qops.evidence.cdi import AptSource, Cdi, CdiNode, CdiSpec, CdiUnit
from qops.evidence.container import Container, Containers
from qops.evidence.container_engine import ContainerEngine, DaemonFlag, DaemonJson, DockerInfo
from qops.evidence.gpu import DriverModule
from qops.evidence.packages import Package, Packages
from qops.evidence.text import Quote
from qops.plans import Plan
from qops.plans.container_toolkit import PLAN

ANY = Derived(HardwareClass.HGX, "a test")
QUOTE = Quote("somewhere", 1, "something")
DRIVER = DriverModule("595.71.05", True, QUOTE)
FRESH, OLD = "/var/run/cdi/nvidia.yaml", "/etc/cdi/nvidia.yaml"
UNITS = {f"nvidia-cdi-refresh.{kind}": CdiUnit("loaded", "active", "enabled") for kind in ("path", "service")}


def _spec(path: str = FRESH, major: int = 509) -> CdiSpec:
    node = CdiNode("/dev/nvidia-uvm", QUOTE, major)
    return CdiSpec(path, QUOTE, "nvidia.com/gpu", "0.7.0", ("0", "1", "all"), (node,), "595.71.05", QUOTE)


def _packages(version: str = "1.20.0-1", *, held: bool = True, manager: str = "dpkg", **other: str) -> Packages:
    versions = {name: other.get(name.replace("-", "_"), version) for name in PACKAGES}
    return Packages(manager, {n: Package(n, v, "amd64", held) for n, v in versions.items() if v}, QUOTE)


def _docker(
    *lines: str, runtimes: tuple[str, ...] = ("nvidia", "runc"), running: int = 0, **more: Any
) -> ContainerEngine:
    text = lines or ('{"runtimes": {"nvidia": {"path": "nvidia-container-runtime"}}}',)
    info = DockerInfo("29.1.3", runtimes, ("/etc/cdi",), running=running, cgroup_driver="systemd")
    file = DaemonJson(text, Quote("/etc/docker/daemon.json", 1, text[0]))
    values = {"docker": "/usr/bin/docker", "unit": "loaded", "active": "active", "info": info, "daemon_json": file}
    return ContainerEngine(**{**values, **more})


CDI = Cdi("1.20.0", (_spec(),), {"nvidia-uvm": 509}, units=UNITS)
RUNNING = Containers((Container("engine", QUOTE, running=True, gpus_by="gpus"),))


def _plan(*seen: object, **options: Any) -> Plan:
    every = {type(value): value for value in (CDI, _packages(), _docker(), DRIVER, *seen)}
    return PLAN.make(every, ANY, {**PLAN.defaults, **options})


def test_what_is_right_is_left() -> None:
    plan = _plan()
    assert not plan.differs and not plan.refused and not plan.notes
    assert (plan.facts["files"], plan.facts["docker"], plan.facts["changes"]) == ([], "", False)
    assert any("describes 2 GPUs" in str(s) for s in plan.settings)


def test_a_bare_host() -> None:
    bare = Cdi(units={})
    plan = _plan(bare, Packages("dpkg"), ContainerEngine(), repository="https://mirror.example/toolkit/")
    assert (plan.facts["version"], plan.facts["changes"], plan.facts["refresh"]) == ("1.20.0-1", True, True)
    (source,) = plan.facts["files"]
    assert source["dest"] == "/etc/apt/sources.list.d/nvidia-container-toolkit.list"
    assert "https://mirror.example/toolkit/stable/deb/$(ARCH) /" in source["content"]
    assert plan.facts["key"]["url"] == "https://mirror.example/toolkit/gpgkey"
    assert plan.unsafe


def test_a_bare_rhel() -> None:
    plan = _plan(Cdi(), Packages("rpm"), ContainerEngine())
    (source,) = plan.facts["files"]
    assert source["dest"] == "/etc/yum.repos.d/nvidia-container-toolkit.repo"
    assert "baseurl=https://nvidia.github.io/libnvidia-container/stable/rpm/$basearch\n" in source["content"]
    assert plan.facts["key"] == {}


def test_a_repository_that_is_there_or_is_left_is_not_written() -> None:
    there = Cdi(sources=(AptSource("/etc/apt/sources.list.d/own.list", QUOTE),))
    assert _plan(there, Packages("dpkg")).facts["files"] == []
    assert _plan(Cdi(), Packages("dpkg"), repository="leave").facts["files"] == []


def test_the_lists_of_older_guides_go() -> None:
    path = "/etc/apt/sources.list.d/nvidia-docker.list"
    plan = _plan(Cdi("1.20.0", (_spec(),), units=UNITS, sources=(AptSource(path, QUOTE),)))
    assert plan.facts["files"] == [{"dest": path, "state": "absent"}]
    assert plan.differs
    assert any("Signed-By" in str(s) for s in plan.settings)


@pytest.mark.parametrize(
    ("packages", "said", "version"),
    [
        (_packages("1.19.1-1"), "auto", "1.19.1-1"),  # new enough, and stays where it was put
        (_packages("1.17.8-1"), "auto", "1.20.0-1"),
        (_packages("1.20.0-1", libnvidia_container1="1.19.1-1"), "auto", "1.20.0-1"),
        (_packages("1.20.0-1", libnvidia_container1=""), "auto", "1.20.0-1"),
        (_packages("1.20.0-1"), "1.19.1", "1.19.1-1"),
        (_packages("1.20.0-1"), "1.19.1-2", "1.19.1-2"),
    ],
)
def test_which_version(packages: Packages, said: str, version: str) -> None:
    plan = _plan(packages, version=said)
    assert plan.facts["version"] == version
    assert plan.facts["changes"] is any(packages.version(name) != version for name in PACKAGES)


def test_packages_are_not_changed_while_that_takes_gpus_from_a_container() -> None:
    (reason,) = _plan(RUNNING, version="1.19.1").refused
    assert "engine would lose the GPUs" in reason
    assert _plan(RUNNING, version="1.19.1", reload=True).refused == ()
    assert _plan(RUNNING).refused == ()  # nothing is changed
    by_cdi = Containers((Container("engine", QUOTE, running=True, gpus_by="cdi"),))
    assert _plan(by_cdi, version="1.19.1").refused == ()


def test_units_are_not_enabled_while_that_takes_gpus_from_a_container() -> None:
    off = Cdi(
        "1.20.0", (_spec(),), {"nvidia-uvm": 509}, units=dict.fromkeys(UNITS, CdiUnit("loaded", "inactive", "disabled"))
    )
    assert _plan(off).facts["units"] == list(UNITS)
    plan = _plan(off, RUNNING)
    assert plan.facts["units"] == []
    assert any(s.state is State.LEFT and s.key in UNITS for s in plan.settings)


@pytest.mark.parametrize(
    "cdi",
    [
        Cdi("1.20.0", (), {"nvidia-uvm": 509}, units=UNITS),
        Cdi("1.20.0", (_spec(major=510),), {"nvidia-uvm": 509}, units=UNITS),
        Cdi("1.20.0", (_spec(OLD, 510),), {"nvidia-uvm": 509}, units=UNITS),
    ],
)
def test_a_specification_that_is_missing_or_stale_is_written(cdi: Cdi) -> None:
    assert _plan(cdi).facts["refresh"] is True


def test_without_a_driver_there_is_nothing_to_describe() -> None:
    seen = {Cdi: Cdi("1.20.0", units=UNITS), ContainerEngine: _docker(), Packages: _packages()}
    plan = PLAN.make(seen, ANY, PLAN.defaults)
    assert not plan.differs and plan.facts["refresh"] is False


def test_an_old_specification_is_reported_and_removed_on_request() -> None:
    both = Cdi("1.20.0", (_spec(OLD, 509), _spec()), {"nvidia-uvm": 509}, units=UNITS)
    plan = _plan(both)
    assert OLD in plan.notes[0] and plan.facts["files"] == []
    plan = _plan(both, remove_old_cdi=True)
    assert plan.facts["files"] == [{"dest": OLD, "state": "absent"}] and plan.differs


def test_the_runtime_is_merged_and_docker_told() -> None:
    plan = _plan(_docker('{"debug": true}', runtimes=("runc",)))
    (file,) = plan.facts["files"]
    assert file["merge"] == {"runtimes": {"nvidia": {"args": [], "path": "nvidia-container-runtime"}}}
    assert plan.facts["docker"] == "restarted"
    assert _plan(_docker('{"debug": true}', runtimes=("runc",), running=1)).facts["docker"] == "reloaded"


def test_a_runtime_that_docker_has_not_read_yet() -> None:
    plan = _plan(_docker(runtimes=("runc",), running=1))
    assert (plan.facts["files"], plan.facts["docker"], plan.differs) == ([], "reloaded", True)


def test_a_runtime_that_a_drop_in_passes_is_left_to_it() -> None:
    line = Quote(
        "/etc/systemd/system/docker.service.d/gpu.conf", 3, "--add-runtime=nvidia=/usr/bin/nvidia-container-runtime"
    )
    plan = _plan(_docker("{}", flags=(DaemonFlag("add-runtime", line),)))
    assert (plan.facts["files"], plan.refused, plan.differs) == ([], (), False)
    other = Quote(line.source, 3, "--add-runtime=kata=/usr/bin/kata-runtime")
    (reason,) = _plan(_docker("{}", flags=(DaemonFlag("add-runtime", other),))).refused
    assert "gpu.conf:3" in reason


def test_holding_is_a_choice() -> None:
    assert _plan(_packages(held=False)).facts["held"] is True
    assert _plan(_packages(held=False)).differs
    assert not _plan(_packages(held=False), hold="no").differs


def test_no_cgroups_stays() -> None:
    line = Quote("/etc/nvidia-container-runtime/config.toml", 17, "no-cgroups = true")
    plan = _plan(Cdi("1.20.0", (_spec(),), {"nvidia-uvm": 509}, units=UNITS, no_cgroups=line))
    assert "config.toml:17 says no-cgroups" in plan.notes[0]
    assert not plan.differs


def test_the_vendors_system_is_left_alone() -> None:
    plan = _plan(_docker("{,}", vendor_image=True), _packages("1.17.8-1"))
    assert (plan.settings, plan.refused, plan.facts["files"]) == ((), (), [])


def test_what_nobody_saw_is_unseen() -> None:
    assert PLAN.make({Cdi: CDI}, ANY, PLAN.defaults).unseen == ("container toolkit",)


@pytest.mark.parametrize("version", ["newest", "1.20", "1.20.0; rm", ""])
def test_a_version_that_cannot_be_is_an_error(version: str) -> None:
    with pytest.raises(UsageError):
        _plan(version=version)
