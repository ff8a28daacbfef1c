"""A planted fault shows where a real one would."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from simulated import NAMES, Host, simulated_host

from qops.lab.sim import container

__all__ = ["simulated_host"]  # the fixture `host`


def test_versions_apart(host: Host) -> None:
    host.become("h200x2").plant(driver_library_version_mismatch={})
    answer = host.smi()
    assert answer.status == 18
    assert answer.out == ("Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.173\n")
    log = host.run("dmesg").out
    assert "NVRM: API mismatch: the client has the version 580.173.02, but\n" in log
    assert "this kernel module has the version 580.159.04.  Please" in log


def test_versions_apart_by_an_upgrade_without_a_reboot(host: Host) -> None:
    host.become("h200x2").run("qops-lab-boot")
    for part in ("library", "module"):
        (host.folder / "var" / f"driver-{part}").write_text("595.58.03\n", encoding="utf-8")
    assert host.smi().status == 18
    host.run("qops-lab-boot")
    assert host.query("driver_version")[0] == ["595.58.03"]


def test_no_module_for_the_kernel(host: Host) -> None:
    host.become("h200x2").plant(kernel_upgrade_no_module={"kernel": "6.18.50-generic"})
    host.run("qops-lab-boot")
    answer = host.smi()
    assert answer.status == 9
    assert answer.out.startswith("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.")
    assert not (host.root / "proc/driver/nvidia").exists()
    assert not (host.root / "dev/nvidia0").exists()
    assert host.read("/proc/sys/kernel/osrelease") == "6.18.50-generic"
    assert "NVRM" not in host.run("dmesg").out


@pytest.mark.parametrize(
    ("name", "upgraded"),
    [
        ("rtxpro4", "6.1.0-42-amd64"),
        ("spark", "6.17.0-1015-nvidia"),
        ("h200x2", "6.18.45-generic"),
        ("rtx5090", "6.12.58+deb13-amd64"),
    ],
)
def test_an_upgraded_kernel_is_the_next_one_and_only_the_former_has_a_module(
    host: Host, name: str, upgraded: str
) -> None:
    host.become(name).run("qops-lab-boot")
    former = host.run("uname", "-r").out.strip()
    modules = host.folder / "system/lib/modules"
    host.plant(kernel_upgrade_no_module={})
    host.run("qops-lab-boot")
    assert host.run("uname", "-r").out == f"{upgraded}\n"
    assert f" {upgraded} " in host.run("uname", "-a").out
    assert f"vmlinuz-{upgraded}" in host.read("/proc/cmdline")
    assert [path.relative_to(modules).parts[0] for path in modules.glob("*/kernel/**/nvidia.ko")] == [former]
    assert (modules / upgraded / "modules.dep").read_text() == ""
    assert (modules / os.uname().release).readlink() == Path(upgraded)
    host.plant()
    host.run("qops-lab-boot")
    assert host.run("uname", "-r").out == f"{former}\n"
    assert not (modules / upgraded).exists()


def test_a_module_that_is_built_for_the_upgraded_kernel_can_be_loaded(host: Host) -> None:
    host.become("rtx5090").plant(kernel_upgrade_no_module={})
    host.run("qops-lab-boot")
    assert host.run("modprobe", "nvidia").status == 1
    built = host.folder / "system/lib/modules/6.12.58+deb13-amd64/updates/dkms/nvidia.ko"
    built.parent.mkdir(parents=True)
    built.write_text("nvidia 580.95.05\n", encoding="utf-8")
    assert host.run("modprobe", "nvidia").status == 0
    assert host.smi("-L").status == 0


@pytest.mark.parametrize("cause", ["driver_library_version_mismatch", "gpu_fell_off_bus", "gpu_memory_ecc_hardware"])
def test_a_boot_ends_what_a_boot_ends(host: Host, cause: str) -> None:
    host.become("rtxpro4").run("qops-lab-boot")
    sound = host.smi("-q", "-d", "ECC").out + host.smi("-L").out
    host.plant(**{cause: {}, "thermal_throttle": {"gpu": 0}})
    assert host.smi("-q", "-d", "ECC").out + host.smi("-L").out != sound
    host.run("qops-lab-boot")
    assert host.smi("-q", "-d", "ECC").out + host.smi("-L").out == sound
    assert json.loads((host.folder / "etc/faults.json").read_text()) == {"thermal-throttle": {"gpu": 0}}


def test_a_reset_takes_spare_rows_and_the_log_stays(host: Host) -> None:
    host.become("rtxpro4").plant(gpu_memory_ecc_hardware={"gpu": 0, "remapped": 2})
    assert host.smi("-r", "-i", "1").status == 0
    fields = "ecc.errors.uncorrected.volatile.total,remapped_rows.uncorrectable,remapped_rows.pending"
    assert host.query(fields)[0] == ["1", "2", "Yes"]
    assert host.smi("--gpu-reset", "-i", "0").out.endswith("was successfully reset.\nAll done.\n")
    assert host.query(fields)[0] == ["0", "2", "No"]
    assert ": 63," in host.run("dmesg").out


def test_the_scenarios_module_is_on_disk_until_packages_have_a_say(host: Host) -> None:
    host.become("rtxpro8").run("qops-lab-boot")
    folder = host.folder / "system/lib/modules/6.1.0-41-amd64"
    assert (folder / "modules.dep").read_text() == "kernel/drivers/video/nvidia.ko:\n"
    assert host.run("modinfo", "nvidia-uvm").rows[0].endswith("/6.1.0-41-amd64/kernel/drivers/video/nvidia-uvm.ko")
    (host.folder / "var/driver-module").write_text("none\n", encoding="utf-8")
    host.run("qops-lab-boot")
    assert (folder / "modules.dep").read_text() == ""


@pytest.mark.parametrize("name", NAMES)
def test_only_a_virtual_machine_names_a_hypervisor(host: Host, name: str) -> None:
    rows = dict(row.split(":", 1) for row in host.become(name).run("lscpu").rows)
    assert ("Hypervisor vendor" in rows) == (name == "h200x2")
    assert int(rows["Socket(s)"]) == int(rows["NUMA node(s)"])


def test_a_container_that_may_not_open_the_device_gets_nvmls_unknown_error(host: Host) -> None:
    host.become("rtx5090")
    assert host.smi("-L").status == 0
    host.monkeypatch.setattr(container, "lost", lambda: True)
    answer = host.smi("-L")
    assert (answer.status, answer.out) == (255, "Failed to initialize NVML: Unknown Error\n")


def test_no_fabric_manager(host: Host) -> None:
    host.become("hgx8").plant(fabric_manager_not_running={})
    assert host.query("fabric.state,fabric.status")[0] == ["In Progress", "[N/A]"]
    assert (
        "        State                                          : In Progress\n" in host.smi("-q", "-d", "FABRIC").out
    )


def test_a_fabric_manager_that_is_started_completes_the_fabric(host: Host) -> None:
    host.become("hgx8").plant(fabric_manager_not_running={})
    manager = host.folder / "proc" / "7"
    manager.mkdir()
    (manager / "cmdline").write_bytes(b"bash\0-c\0nv-fabricmanager --version\0")  # somebody asks after it
    assert host.query("fabric.state")[0] == ["In Progress"]
    (manager / "cmdline").write_bytes(b"/usr/bin/python3\0-IS\0/usr/bin/nv-fabricmanager\0-c\0fabricmanager.cfg\0")
    assert host.query("fabric.state,fabric.status")[0] == ["Completed", "Success"]


def test_acs_redirect_is_on_all_ports_above_the_gpus(host: Host) -> None:
    host.become("rtxpro8")
    assert "ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl-\n" not in host.run("lspci", "-vvv").out
    calm = [row for row in host.run("lspci", "-vvv").rows if "ACSCtl" in row]
    host.plant(p2p_slow_acs_redirect={})
    bad = [row for row in host.run("lspci", "-vvv").rows if "ACSCtl" in row]
    assert len(calm) == len(bad) == 4 + 8
    assert all("ReqRedir- CmpltRedir-" in row for row in calm)
    assert all("ReqRedir+ CmpltRedir+" in row for row in bad)


def test_a_gpu_off_the_bus(host: Host) -> None:
    host.become("rtxpro4").plant(gpu_fell_off_bus={})
    answer = host.smi("-L")
    assert answer.err == "Unable to determine the device handle for GPU3: 0000:61:00.0: Unknown Error\n"
    assert len(answer.rows) == 3
    assert "NVRM: Xid (PCI:0000:61:00): 79, GPU has fallen off the bus." in host.run("dmesg").out
    assert "(rev ff)" in host.run("lspci", "-s", "61:00.0").out
    host.become("spark").plant(gpu_fell_off_bus={})
    assert (host.smi().status, host.smi().out) == (6, "No devices were found\n")


def test_heat(host: Host) -> None:
    host.become("h200x2").run("qops-lab-load", "busy")
    host.plant(thermal_throttle={"gpu": 0})
    fields = "clocks.sm,clocks_event_reasons.hw_thermal_slowdown,clocks_event_reasons.sw_thermal_slowdown"
    hot, cool = host.query(fields)
    assert hot[1:] == ["Active", "Active"]
    assert cool[1:] == ["Not Active", "Not Active"]
    assert int(hot[0]) < 1000 < int(cool[0])
    assert " T.Limit Temp                               : -1 C" in host.smi("-q", "-i", "0", "-d", "TEMPERATURE").out
    host.smi("-i", "0", "-pl", "500")  # of 700: its cooling carries that away
    assert host.query(fields)[0][1:] == ["Not Active", "Not Active"]


def test_a_power_cap_holds_until_someone_sets_the_limit(host: Host) -> None:
    host.become("h200x2").run("qops-lab-load", "busy")
    free = int(host.query("clocks.sm")[0][0])
    host.plant(power_cap_below_need={"watts": 200})
    limit, draw, clock, reason = host.query(
        "enforced.power.limit,power.draw,clocks.sm,clocks_event_reasons.sw_power_cap"
    )[0]
    assert (limit, reason) == ("200.00", "Active")
    assert float(draw) < 200
    assert int(clock) < free
    host.smi("-pl", "700")
    assert host.query("power.limit")[0] == ["700.00"]


def test_a_cap_is_never_below_what_the_board_takes(host: Host) -> None:
    host.become("rtxpro8").plant(power_cap_below_need={"watts": 200})
    assert host.query("power.limit")[0] == ["300.00"]


def test_bad_memory(host: Host) -> None:
    host.become("h200x2").plant(gpu_memory_ecc_hardware={"gpu": 1, "remapped": 2, "uncorrectable": 3})
    fields = "ecc.errors.uncorrected.volatile.total,remapped_rows.uncorrectable,remapped_rows.pending"
    assert host.query(fields) == [["0", "0", "No"], ["3", "2", "Yes"]]
    log = host.run("dmesg", "-T", "--level=err").out
    assert "Xid (PCI:0000:00:07): 48," in log
    assert "Xid (PCI:0000:00:07): 63," in log
    assert (
        "|   1  NVIDIA H200                    On  |   00000000:00:07.0 Off |                    3 |" in host.smi().rows
    )


def test_a_driver_that_was_removed(host: Host) -> None:
    host.become("h200x2")
    for part in ("library", "module"):
        (host.folder / "var" / f"driver-{part}").write_text("none\n", encoding="utf-8")
    host.run("qops-lab-boot")
    assert not (host.root / "proc/driver/nvidia").exists()
    host.monkeypatch.setenv("PATH", "/nonexistent")
    answer = host.smi()
    assert (answer.status, answer.err) == (127, "nvidia-smi: command not found\n")
