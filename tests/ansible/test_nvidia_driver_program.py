"""The program that changes a host's driver: what it refuses, keeps and runs. The lab runs all of it for real."""

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from playing import ROOT

from qops.data import driver_packages as data

FOLDER = ROOT / "roles/nvidia_driver/files/nvidia_driver"
NAMES = [path.stem for path in FOLDER.glob("*.py") if path.stem != "__main__"]
SPEC: dict[str, Any] = {
    "manager": "dnf", "version": "580", "flavour": "open", "lead": "nvidia-driver-cuda",
    "versioned": ["nvidia-driver-cuda", "kmod-nvidia-open-dkms"], "plain": ["dkms", "kernel-devel-matched"],
    "explicit": True, "pin": "", "stream": "nvidia-driver:580-open", "hold": True, "held_besides": [],
    "stop_clients": False, "clients": [], "units": [], "parameters": {},
    "family": data.FAMILY.pattern, "not_family": data.NOT_OF_DRIVER.pattern,
    "signed_modules": data.SIGNED_MODULES.pattern, "first_number": data.FIRST_NUMBER,
}  # fmt: skip


class Program:
    """The program's modules, and the commands that they ran; `answers` maps a part of a command to (status, text)."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ran: list[str] = []
        self.answers: dict[str, tuple[int, str]] = {}
        self.modules: dict[str, ModuleType] = {name: importlib.import_module(name) for name in NAMES}
        for module in self.modules.values():
            if hasattr(module, "run"):
                monkeypatch.setattr(module, "run", self.run)
            if hasattr(module, "output"):
                monkeypatch.setattr(module, "output", lambda argv, **_: self.run(argv)[1])

    def run(self, argv: list[str], **_: Any) -> tuple[int, str]:
        command = " ".join(argv)
        self.ran.append(command)
        return next((answer for part, answer in self.answers.items() if part in command), (0, ""))

    def __getattr__(self, name: str) -> Any:
        return self.modules[name]


@pytest.fixture(name="program")
def _program(monkeypatch: pytest.MonkeyPatch) -> Iterator[Program]:
    before = {name: sys.modules.pop(name) for name in NAMES if name in sys.modules}
    monkeypatch.syspath_prepend(str(FOLDER))
    yield Program(monkeypatch)
    for name in NAMES:
        sys.modules.pop(name, None)
    sys.modules.update(before)


@pytest.mark.parametrize(
    ("name", "boots"),
    [
        ("linux-image-6.8.0-90-generic", True),
        ("linux-image-amd64", True),
        ("linux-modules-6.8.0-90-generic", True),
        ("linux-modules-extra-6.8.0-90-generic", True),
        ("linux-generic-hwe-24.04", True),
        ("linux-nvidia-hwe-24.04", True),
        ("kernel", True),
        ("kernel-core", True),
        ("kernel-modules-core", True),
        ("grub-efi-amd64", True),
        ("linux-headers-amd64", False),
        ("linux-headers-6.8.0-90-generic", False),
        ("linux-modules-nvidia-580-server-open-generic", False),
        ("linux-objects-nvidia-580-server-open-6.8.0-90-generic", False),
        ("linux-libc-dev", False),
        ("kernel-devel-matched", False),
        ("kernel-headers", False),
        ("nvidia-kernel-open-dkms", False),
    ],
)
def test_what_a_transaction_must_not_touch(program: Program, name: str, boots: bool) -> None:
    assert bool(program.packages.KERNEL.match(name)) is boots


def _apt(program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(program.apt, "PREFERENCES", tmp_path / "preferences")
    return program.apt.Apt({**SPEC, "manager": "apt", "versioned": ["nvidia-driver-cuda"], "plain": ["dkms"]})


def test_a_transaction_that_brings_a_kernel_is_refused(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager = _apt(program, tmp_path, monkeypatch)
    program.answers["-s install"] = (
        0,
        "Inst linux-image-6.12.63+deb13-amd64 (6.12.63-1 Debian:13 [amd64])\n"
        "Inst nvidia-driver-cuda [580.95.05-1] (580.159.04-1 cuda [amd64])\nConf nvidia-driver-cuda (580.159.04-1)\n",
    )
    with pytest.raises(program.commands.RefusedError, match=r"would change the kernel \(linux-image-6.12.63"):
        manager.check(program.packages.Target("580.159.04", ["nvidia-driver-cuda=580.159.04-1"]))
    assert "--allow-downgrades" in program.ran[0]
    pinned = (tmp_path / "preferences/00-qops-nvidia-driver").read_text()
    assert "Pin: version 580.159.04-*\nPin-Priority: 1001\n" in pinned


def test_a_transaction_removes_nothing_but_the_drivers_own(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager = _apt(program, tmp_path, monkeypatch)
    target = program.packages.Target("595.71.05", ["nvidia-driver-cuda=595.71.05-1"])
    program.answers["-s install"] = (0, "Remv nvidia-open-580 [580.95.05-1]\nRemv nvidia-driver-pinning-580 [580-1]\n")
    manager.check(target)
    program.answers["-s install"] = (0, "Remv docker-ce [5:28.1-1]\nRemv libnvidia-container1 [1.19.1-1]\n")
    with pytest.raises(program.commands.RefusedError, match="would remove docker-ce, libnvidia-container1"):
        manager.check(target)


def test_apt_gets_every_package_at_one_version(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager = _apt(program, tmp_path, monkeypatch)
    program.answers["dpkg-query"] = (0, "hi |nvidia-driver-cuda|580.95.05-1|amd64\nhi |libcuda1|580.95.05-1|amd64\n")
    program.answers["madison"] = (
        0,
        "nvidia-driver-cuda | 610.43.02-1 | repo\nnvidia-driver-cuda | 595.71.05-1 | repo\n"
        "nvidia-driver-cuda | 595.58.03-1 | repo\nlibcuda1 | 610.43.02-1 | repo\nlibcuda1 | 595.71.05-1 | repo\n",
    )
    manager.spec["version"] = "595"
    assert manager.target().version == "595.71.05"
    assert manager.target().requests == ["nvidia-driver-cuda=595.71.05-1", "libcuda1=595.71.05-1", "dkms"]
    assert manager.target("595.71.05").version == "595.71.05"
    with pytest.raises(program.commands.RefusedError, match="versions that can be had: 610"):
        manager.spec["version"] = "570"
        manager.target()


UNCONFIGURED = "libnvidia-encode1 depends on libnvcuvid1 (= 595.71.05-1); however:\n  it is not configured yet.\n"


def test_what_dpkg_alone_cannot_finish_is_finished_by_apt(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager = _apt(program, tmp_path, monkeypatch)
    program.answers["--configure -a"] = (1, UNCONFIGURED)
    assert manager.repair("595.71.05") == ""
    fixing = [command for command in program.ran if "--fix-broken" in command]
    assert "-s" in fixing[0].split() and "--no-download" in fixing[1].split() and len(fixing) == 2
    assert "Pin: version 595.71.05-*" in (tmp_path / "preferences/00-qops-nvidia-driver").read_text()
    program.answers["-s install"] = (0, "Inst linux-image-amd64 (6.12.63-1 Debian:13 [amd64])\n")
    program.ran.clear()
    assert "would change the kernel" in manager.repair("595.71.05")
    assert [command for command in program.ran if "--fix-broken" in command and " -s " not in command] == []


def test_a_transaction_that_breaks_off_is_repaired_and_done_again(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager = _apt(program, tmp_path, monkeypatch)
    target = program.packages.Target("595.71.05", ["libcuda1=595.71.05-1"])
    program.answers["libcuda1=595.71.05-1"] = (100, f"dpkg: dependency problems: {UNCONFIGURED}")
    with pytest.raises(program.commands.FailedError, match="not configured yet"):
        manager.install(target)
    assert [n for n, command in enumerate(program.ran) if "--configure -a" in command] == [2]
    assert sum("libcuda1=595.71.05-1" in command for command in program.ran) == 4
    program.answers["libcuda1=595.71.05-1"] = (100, "Error! Bad return status for module build on kernel: 6.12\n")
    program.ran.clear()
    with pytest.raises(program.commands.FailedError, match="Bad return status"):
        manager.install(target)
    assert len(program.ran) == 1  # what does not compile will not the second time


def _keep(program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fail: bool = False) -> Path:
    home = tmp_path / "home"
    for name, path in {"HOME": home, "STATES": home / "states", "LAST_GOOD": home / "last-good"}.items():
        monkeypatch.setattr(program.store, name, path)

    def collect(packages: list[dict[str, Any]], folder: Path) -> None:
        for package in packages:
            package["file"] = f"{package['name']}.deb"
            (folder / package["file"]).write_text("deb")
        if fail:
            raise OSError(28, "No space left on device")

    rows = [{"name": "libcuda1", "version": "580.95.05-1", "arch": "amd64", "held": True, "lead": True}]
    kept: Path = program.store.keep(rows, collect, {})
    return kept


def test_a_state_is_kept_whole_or_not_at_all(program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OSError, match="No space"):
        _keep(program, tmp_path, monkeypatch, fail=True)
    assert not (tmp_path / "home/states/580.95.05-1").exists()
    folder = _keep(program, tmp_path, monkeypatch)
    assert program.store.last_good() == (None, None)
    program.store.make_last_good(folder)
    assert program.store.last_good()[0] == folder
    assert (tmp_path / "home/last-good").readlink() == Path("states/580.95.05-1")


def test_a_state_that_lost_a_file_is_no_way_back(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = _keep(program, tmp_path, monkeypatch)
    program.store.make_last_good(folder)
    (folder / "libcuda1.deb").write_text("d")
    assert program.store.last_good() == (None, None)
    (folder / "manifest.json").write_text("{")
    assert program.store.last_good() == (None, None)


def test_rhel_9_switches_its_stream_and_locks_what_it_installed(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program.dnf, "read", lambda _: "")
    manager = program.dnf.Dnf(dict(SPEC))
    program.answers["repoquery"] = (0, "3:580.95.05-1.el9\n3:580.105.08-1.el9\n")
    target = manager.target()
    assert "dnf -y module enable nvidia-driver:580-open" in program.ran
    assert target.requests == [
        "nvidia-driver-cuda-580.105.08", "kmod-nvidia-open-dkms-580.105.08", "dkms", "kernel-devel-matched",
    ]  # fmt: skip
    program.answers["--assumeno"] = (
        1,
        "Installing:\n nvidia-driver-cuda   x86_64   3:580.105.08-1.el9   cuda-rhel9-x86_64   1 M\n"
        "Upgrading:\n kernel-core   x86_64   5.14.0-611.9.1.el9_7   baseos   20 M\n\nOperation aborted.\n",
    )
    with pytest.raises(program.commands.RefusedError, match=r"change the kernel \(kernel-core\)"):
        manager.check(target)
    program.answers["rpm -qa"] = (0, "nvidia-driver-cuda|3:580.105.08-1.el9|x86_64\nbash|5.1.8-9.el9|x86_64\n")
    manager.hold()
    assert program.ran[-1] == "dnf -q versionlock add nvidia-driver-cuda"


def test_rhel_goes_back_without_a_network(program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program.dnf, "read", lambda _: "")
    program.answers["rpm -qa"] = (
        0,
        "nvidia-driver-cuda|3:595.71.05-1.el9|x86_64\nnvidia-new|3:595.71.05-1.el9|x86_64\n",
    )
    stream = tmp_path / "nvidia-driver.module"
    manifest = {
        "files": {str(stream): "[nvidia-driver]\nstream=580-open\n", str(tmp_path / "gone"): None},
        "packages": [{"name": "nvidia-driver-cuda", "file": "nvidia-driver-cuda-580.95.05-1.el9.x86_64.rpm"}],
    }
    program.dnf.Dnf(dict(SPEC)).restore("/kept", json.loads(json.dumps(manifest)))
    assert stream.read_text() == "[nvidia-driver]\nstream=580-open\n"
    assert program.ran[-2:] == [
        "rpm -e --nodeps nvidia-new",
        "rpm -U --oldpackage --replacepkgs /kept/nvidia-driver-cuda-580.95.05-1.el9.x86_64.rpm",
    ]


def test_who_owns_a_process(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = {
        1: "/init.scope",
        2: "/system.slice/vllm.service",
        3: f"/system.slice/docker-{'a' * 64}.scope",
        4: "/user.slice/user-1000.slice/user@1000.service/app.slice/notebook.service",
        5: "/user.slice/user-1000.slice/session-3.scope",
        6: f"/docker/{'b' * 64}/system.slice/vllm.service",
    }
    monkeypatch.setattr(program.gpu, "_cgroup", lambda pid: paths[pid])
    assert [program.gpu._owner(pid) for pid in (2, 3, 4, 5)] == ["vllm.service", f"docker:{'a' * 64}", "", ""]
    paths[1] = f"/docker/{'b' * 64}/init.scope"  # the host is a container itself
    assert program.gpu._owner(6) == "vllm.service"
