"""What the repository is made of, without Docker: archives, definitions, signatures, and the driver's modules."""

import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
import yaml
from simulated import Host, simulated_host

from qops.lab.packages import definition, openpgp, repository
from qops.lab.packages.deb import File, Package, build
from qops.lab.packages.shared_object import shared_object

__all__ = ["simulated_host"]  # the fixture `host`

KERNEL = "6.1.0-41-amd64"
PACKAGES = definition.packages((KERNEL,))


def members(archive: bytes) -> dict[str, bytes]:
    """Take an ar archive apart."""
    assert archive.startswith(b"!<arch>\n")
    found, place = {}, 8
    while place < len(archive):
        head = archive[place : place + 60].decode()
        size = int(head[48:58])
        found[head[:16].strip()] = archive[place + 60 : place + 60 + size]
        place += 60 + size + size % 2
    return found


def unpacked(archive: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(archive)) as found:
        files = {one.name: found.extractfile(one) if one.isfile() else None for one in found}
        return {name: file.read() if file else b"" for name, file in files.items()}


def versions(name: str) -> list[str]:
    return [one.version for one in PACKAGES if one.name == name]


def test_an_archive_holds_what_was_asked_for_and_is_the_same_each_time():
    package = Package(
        "some", "1:2-1", "all", (("Description", "it"),), (File("/etc/some", b"x"), File("/usr/a", link="b")),
        (("postinst", "true\n"),),
    )  # fmt: skip
    assert package.filename == "some_2-1_all.deb"
    assert build(package) == build(package)
    found = members(build(package))
    assert list(found) == ["debian-binary", "control.tar.gz", "data.tar.gz"]
    control, data = (unpacked(found[f"{name}.tar.gz"]) for name in ("control", "data"))
    assert control["./conffiles"] == b"/etc/some\n"
    assert control["./postinst"].startswith(b"#!/bin/sh\nset -e\n")
    assert list(data) == [".", "./etc", "./etc/some", "./usr", "./usr/a"]


def test_every_stand_in_says_that_it_is_one_and_has_no_place_left_to_fill():
    for package in PACKAGES:
        assert dict(package.fields)["Description"].endswith(definition.STAND_IN), package.name
        whole = package.control + "".join(text for _, text in package.scripts)
        whole += "".join(file.path + file.content.decode(errors="replace") for file in package.files)
        assert not re.search(r"@(release|version|branch|kernel|triplet|architecture)@", whole), package.name


def test_names_and_versions_are_the_vendors():
    assert versions("nvidia-open") == versions("nvidia-kernel-dkms") == versions("libcuda1")
    assert {one.split(".")[0] for one in versions("cuda-drivers")} == {"580", "595", "610"}
    assert versions("nvidia-open-580") == [one for one in versions("nvidia-open") if one.startswith("580.")]
    assert versions("nvidia-driver-pinning-595.71.05") == ["595.71.05-1"]
    assert versions("nvidia-fabricmanager") == versions("nvidia-open")
    toolkit = (
        "libnvidia-container1",
        "libnvidia-container-tools",
        "nvidia-container-toolkit",
        "nvidia-container-toolkit-base",
    )
    assert {tuple(versions(name)) for name in toolkit} == {("1.19.1-1", "1.20.0-1")}
    assert versions(f"linux-headers-{KERNEL}") == ["1"]


def test_what_a_stand_in_depends_on_is_there():
    """By name: from the stand-ins, or from Debian's packages that the lab fetches."""
    names = {one.name for one in PACKAGES}
    provided = {part for one in PACKAGES for part in dict(one.fields).get("Provides", "").split(", ")}
    debian = {
        *definition.debian("debian12").offered,
        "libseccomp2",
        "libibumad3",
    }  # in the base, or with infiniband-diags
    for package in PACKAGES:
        for group in filter(None, dict(package.fields).get("Depends", "").split(", ")):
            assert {one.split(" ")[0] for one in group.split(" | ")} & (names | provided | debian), (
                package.name,
                group,
            )


def test_the_index_names_every_archive_with_its_digest():
    files = repository.stand_ins(PACKAGES[:3])
    index = files["Packages"].decode()
    for package in PACKAGES[:3]:
        assert f"Filename: ./{package.filename}\n" in index
        assert hashlib.sha256(files[package.filename]).hexdigest() in index
    signed: list[str] = []
    repository.release({"Packages": files["Packages"]}, "some", lambda text: signed.append(text) or b"")
    assert f" {hashlib.sha256(files['Packages']).hexdigest()} {len(files['Packages'])} Packages\n" in signed[0]


def test_a_signature_is_good_and_a_changed_text_is_not(tmp_path: Path):
    key = openpgp.Key(bytes(range(32)), 1_790_000_000, "some <some@qops.invalid>")
    armoured = openpgp.public(key).decode().splitlines()
    (tmp_path / "key.gpg").write_bytes(__import__("base64").b64decode("".join(armoured[2:-2])))
    message = openpgp.clear_sign(key, "Origin: some\n and more\n", 1_790_000_001)

    def verified(content: bytes) -> bool:
        (tmp_path / "message").write_bytes(content)
        command = ["gpgv", "--keyring", str(tmp_path / "key.gpg"), str(tmp_path / "message")]
        try:
            return subprocess.run(command, capture_output=True, check=False).returncode == 0
        except FileNotFoundError:
            pytest.skip("there is no gpgv here: apt-get install gpgv")

    assert verified(message)
    assert not verified(message.replace(b"and more", b"and less"))
    with pytest.raises(ValueError, match="escapes"):
        openpgp.clear_sign(key, "-dashed\n", 0)


def test_a_library_is_known_by_its_name(tmp_path: Path):
    content = shared_object("libsome.so.1", "amd64", "a note")
    assert content.startswith(b"\x7fELF\x02\x01\x01")
    assert b"\0libsome.so.1\0" in content
    assert content.endswith(b"a note\n")


def run_ctk(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    tool = Path(definition.__file__).parent / "files" / "nvidia-ctk"
    return subprocess.run(
        [sys.executable, "-IS", str(tool), *arguments], capture_output=True, text=True, check=False, cwd=tmp_path,
        env={"PATH": os.environ["PATH"]},
    )  # fmt: skip


def test_the_toolkits_tool_merges_and_never_overwrites(tmp_path: Path):
    path = tmp_path / "daemon.json"
    path.write_text('{"log-driver": "journald", "runtimes": {"other": {"path": "other"}}}')
    arguments = ("runtime", "configure", "--runtime=docker", f"--config={path}", "--set-as-default")
    done = run_ctk(tmp_path, *arguments)
    assert done.returncode == 0
    assert "It is recommended that docker daemon be restarted." in done.stderr
    read = json.loads(path.read_text())
    assert (read["log-driver"], read["default-runtime"]) == ("journald", "nvidia")
    assert sorted(read["runtimes"]) == ["nvidia", "other"]
    before = path.read_text()
    run_ctk(tmp_path, *arguments)
    assert path.read_text() == before
    path.write_text("{broken")
    assert run_ctk(tmp_path, *arguments).returncode == 1
    assert path.read_text() == "{broken"


def test_the_toolkits_configuration_is_set_in_place(tmp_path: Path):
    path = tmp_path / "config.toml"
    setting = "nvidia-container-runtime.mode=cdi"
    run_ctk(tmp_path, "config", f"--config-file={path}", "--in-place")
    run_ctk(tmp_path, "config", f"--config-file={path}", "--in-place", "--set", setting)
    run_ctk(tmp_path, "config", f"--config-file={path}", "--in-place", "--set", "nvidia-container-cli.no-cgroups=true")
    text = path.read_text()
    assert text.count("mode = ") == 1
    assert '[nvidia-container-runtime]\nlog-level = "info"\nmode = "cdi"\n' in text
    assert "no-cgroups = true" in text


def test_the_data_files_hold_only_known_keys():
    for name in ("driver", "fabric", "toolkit", "system", "kernels", "debian", "images"):
        assert yaml.safe_load(definition.content(name))


def test_modules_load_what_is_installed_and_stay_while_they_are_held(host: Host):
    host.become("hgx8").run("qops-lab-boot")
    assert host.run("lsmod").rows[1:] == [
        "nvidia_uvm           1830912  0",
        "nvidia              14299136  1 nvidia_uvm",
    ]
    (host.folder / "var/driver-module").write_text("595.71.05\n")
    assert host.run("modinfo", "-F", "version", "nvidia").out == "595.71.05\n"
    assert host.run("rmmod", "nvidia").err == "rmmod: ERROR: Module nvidia is in use by: nvidia_uvm\n"
    process = host.folder / "proc/77"
    process.mkdir()
    (process / "cmdline").write_bytes(b"/usr/bin/python3\0-IS\0/usr/bin/nvidia-persistenced\0--user\0nvpd\0")
    assert host.run("rmmod", "nvidia_uvm", "nvidia").err == "rmmod: ERROR: Module nvidia is in use\n"
    assert host.run("modprobe", "-r", "nvidia").err == "modprobe: FATAL: Module nvidia is in use.\n"
    (process / "cmdline").unlink()
    assert host.run("modprobe", "-r", "nvidia").status == 0
    assert not (host.root / "proc/driver/nvidia").exists()
    assert not list((host.root / "dev").glob("nvidia*"))
    assert host.smi().status == 9
    assert host.run("modprobe", "nvidia").status == 0
    assert "  595.71.05  " in host.read("/proc/driver/nvidia/version")


def test_no_module_and_the_flavour_of_one(host: Host):
    host.become("rtxpro4").run("qops-lab-boot")
    (host.folder / "var/driver-module").write_text("none\n")
    host.run("qops-lab-boot")
    assert host.run("modprobe", "nvidia").err.startswith("modprobe: FATAL: Module nvidia not found in directory")
    assert host.run("modinfo", "nvidia").status == 1
    (host.folder / "var/driver-module").write_text("580.159.04\n")
    (host.folder / "var/driver-flavour").write_text("proprietary\n")
    host.run("modprobe", "nvidia")
    assert host.read("/proc/driver/nvidia/version").startswith(
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04"
    )
    assert host.run("modinfo", "-F", "license", "nvidia").out == "NVIDIA\n"
