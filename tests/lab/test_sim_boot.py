"""A boot lays the tree out afresh and keeps what the host's own configuration says."""

from __future__ import annotations

import pytest
from simulated import NAMES, Host, simulated_host

__all__ = ["simulated_host"]  # the fixture `host`

THP = "/sys/kernel/mm/transparent_hugepage/enabled"
GOVERNOR = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"


@pytest.mark.parametrize("name", NAMES)
def test_every_host_boots_without_a_complaint(host: Host, name: str) -> None:
    answer = host.become(name).run("qops-lab-boot")
    assert (answer.status, answer.err) == (0, "")
    for path in ("/proc/cmdline", "/proc/driver/nvidia/version", THP, "/sys/devices/system/node/node0/cpulist"):
        assert host.read(path)
    assert not (host.root / "proc/sys/kernel/sched_migration_cost_ns").exists()
    assert (host.root / "dev/nvidiactl").is_file()


def test_a_setting_without_a_file_is_lost_and_one_with_a_file_is_kept(host: Host) -> None:
    host.become("rtxpro8").run("qops-lab-boot")
    assert host.read("/proc/sys/kernel/numa_balancing") == "1"
    (host.root / "proc/sys/kernel/numa_balancing").write_text("0\n")
    host.configure("etc/sysctl.d/90-qops.conf", "# tuned\nvm.swappiness = 10\n-kernel.no_such_key = 1\n")
    host.run("qops-lab-boot")
    assert host.read("/proc/sys/kernel/numa_balancing") == "1"
    assert host.read("/proc/sys/vm/swappiness") == "10"


def test_sysctl_files_are_read_as_systemd_does(host: Host) -> None:
    host.become("rtxpro8")
    host.configure("usr/lib/sysctl.d/50-a.conf", "vm.swappiness=1\nvm.dirty_ratio=5\n")
    host.configure("etc/sysctl.d/50-a.conf", "vm/swappiness=2\n")
    host.configure(
        "etc/sysctl.d/99-z.conf", "vm.swappiness=3\nkernel.sched_migration_cost_ns=50000\nvm.dirty_ratio=x\n"
    )
    answer = host.run("qops-lab-boot")
    assert host.read("/proc/sys/vm/swappiness") == "3"
    assert host.read("/proc/sys/vm/dirty_ratio") == "20"
    assert answer.err.splitlines() == [
        "qops-lab: Couldn't write '50000' to '/proc/sys/kernel/sched_migration_cost_ns': No such file or directory",
        "qops-lab: Couldn't write 'x' to '/proc/sys/vm/dirty_ratio': Invalid argument",
    ]


def test_tmpfiles_set_hugepages_and_governors(host: Host) -> None:
    host.become("rtxpro4").run("qops-lab-boot")
    assert (host.read(THP), host.read(GOVERNOR)) == ("[always] madvise never", "schedutil")
    host.configure(
        "etc/tmpfiles.d/qops.conf",
        f"w {THP} - - - - madvise\nw /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor - - - - performance\n"
        "w /sys/no/such/file - - - - 1\n",
    )
    assert host.run("qops-lab-boot").err == ""
    assert host.read(THP) == "always [madvise] never"
    assert host.read(GOVERNOR.replace("cpu0", "cpu127")) == "performance"


def test_a_governor_that_the_kernel_does_not_have_is_refused(host: Host) -> None:
    host.become("rtx5090").configure("etc/default/cpufrequtils", 'GOVERNOR="ondemand"\n')
    assert "Invalid argument" in host.run("qops-lab-boot").err
    assert host.read(GOVERNOR) == "powersave"


def test_a_write_settles_in_the_kernels_form(host: Host) -> None:
    host.become("rtxpro4").run("qops-lab-boot")
    path = host.root / THP.lstrip("/")
    path.write_text("never\n")
    host.run("qops-lab-settle")
    assert host.read(THP) == "always madvise [never]"
    path.write_text("sometimes\n")
    host.run("qops-lab-settle")
    assert host.read(THP) == "always madvise [never]"


def test_module_options_take_effect_at_boot(host: Host) -> None:
    host.become("rtxpro8").configure(
        "etc/modprobe.d/nvidia.conf",
        'options nvidia NVreg_EnableResizableBar=1 NVreg_RegistryDwords="ForceP2P=0x11;RMForceP2PType=1"\n',
    )
    host.run("qops-lab-boot")
    params = host.read("/proc/driver/nvidia/params").splitlines()
    assert "EnableResizableBar: 1" in params
    assert 'RegistryDwords: "ForceP2P=0x11;RMForceP2PType=1"' in params


def test_a_guest_has_no_cpufreq_and_iommu_off_has_no_groups(host: Host) -> None:
    host.become("h200x2").run("qops-lab-boot")
    assert not (host.root / "sys/devices/system/cpu/cpu0/cpufreq").exists()
    assert list((host.root / "sys/kernel/iommu_groups").iterdir()) == []
    host.become("rtxpro4").run("qops-lab-boot")
    assert host.read("/sys/kernel/iommu_groups/0/type") == "identity"
    assert host.read("/sys/bus/pci/devices/0000:01:00.0/iommu_group/type") == "identity"


def test_the_two_devices_of_a_sparks_port(host: Host) -> None:
    host.become("spark-pair", "spark-3").run("qops-lab-boot")
    for device, subnet in (("rocep1s0f0", "200"), ("roceP2p1s0f0", "201")):
        port = f"/sys/class/infiniband/{device}/ports/1"
        assert host.read(port + "/state") == "4: ACTIVE"
        assert host.read(port + "/gid_attrs/types/3") == "RoCE v2"
        assert host.read(port + "/gids/3") == f"0000:0000:0000:0000:0000:ffff:c0a8:{int(subnet):02x}03"
    assert host.read("/sys/class/infiniband/rocep1s0f1/ports/1/state") == "1: DOWN"
    assert host.read("/sys/class/infiniband/rocep1s0f0/device/net/enp1s0f0np0/operstate") == "up"


def test_a_kernel_command_line_of_the_hosts_own_is_booted(host: Host) -> None:
    host.become("rtxpro4")
    (host.folder / "var" / "cmdline").write_text("root=/dev/sda iommu=off\n", encoding="utf-8")
    host.run("qops-lab-boot")
    assert host.read("/proc/cmdline") == "root=/dev/sda iommu=off"
