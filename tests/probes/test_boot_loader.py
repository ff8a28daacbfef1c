import os
import subprocess
from pathlib import Path

from judging import text

from qops.probes import boot_loader, pcie_control

DEBIAN = """\
== boot loader
setting /etc/default/grub GRUB_CMDLINE_LINUX_DEFAULT="quiet splash"
setting /etc/default/grub GRUB_CMDLINE_LINUX=""
setting /etc/default/grub.d/50-cloudimg-settings.cfg GRUB_CMDLINE_LINUX_DEFAULT="console=tty1 console=ttyS0"
setting /etc/default/grub.d/90-qops.cfg GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX iommu=pt"
tool update-grub
next root=UUID=0c7e8f6e ro console=ttyS0 iommu=pt pci="a=b c"
"""
REDHAT = """\
== boot loader
setting /etc/default/grub GRUB_CMDLINE_LINUX="crashkernel=1G-4G:192M rd.lvm.lv=rl/root"
tool grubby
next ro crashkernel=1G-4G:192M rd.lvm.lv=rl/root amd_iommu=off
"""


def test_grub_of_the_debian_family() -> None:
    found = boot_loader.parse([text(DEBIAN)])
    assert found is not None
    assert (found.tool, found.vendor) == ("update-grub", False)
    assert [(s.file, s.options) for s in found.settings] == [
        ("/etc/default/grub", ("quiet", "splash")),
        ("/etc/default/grub", ()),
        ("/etc/default/grub.d/50-cloudimg-settings.cfg", ("console=tty1", "console=ttyS0")),
        ("/etc/default/grub.d/90-qops.cfg", ("iommu=pt",)),
    ]
    assert (found.value("iommu"), found.value("ro"), found.value("intel_iommu")) == ("pt", "", None)


def test_grubby_of_the_red_hat_family() -> None:
    found = boot_loader.parse([text(REDHAT)])
    assert found is not None
    assert (found.tool, found.value("amd_iommu")) == ("grubby", "off")


def test_dgx_os_and_a_host_without_grub() -> None:
    found = boot_loader.parse([text("== boot loader\nowner dgx\ntool update-grub\n")])
    assert found is not None
    assert (found.vendor, found.next) == (True, None)
    bare = boot_loader.parse([text("== boot loader\n")])
    assert bare is not None
    assert (bare.tool, bare.next, bare.settings) == ("", None, ())
    assert boot_loader.parse([text("iommu=pt\n")]) is None


CONTROL = """\
== pcie control
setpci yes
vfio 0000:41:00.0
machine qemu-system-x86
machine qemu-system-x86
hmm-disabled N
option /etc/modprobe.d/nvidia.conf:options nvidia NVreg_RegistryDwords="ForceP2P=0x11;RMForceP2PType=1" NVreg_EnableMSI=1
option /etc/modprobe.d/uvm.conf:  options nvidia-uvm uvm_disable_hmm=1
"""


def test_what_stands_against_changing_pcie() -> None:
    found = pcie_control.parse([text(CONTROL)])
    assert found is not None
    assert (found.setpci, found.vfio, found.machines) == (True, ("0000:41:00.0",), ("qemu-system-x86",))
    assert found.hmm is True
    assert [(o.module, o.options) for o in found.options] == [
        ("nvidia", {"NVreg_RegistryDwords": "ForceP2P=0x11;RMForceP2PType=1", "NVreg_EnableMSI": "1"}),
        ("nvidia_uvm", {"uvm_disable_hmm": "1"}),
    ]
    chosen = found.chosen("nvidia_uvm", "uvm_disable_hmm", outside="/etc/modprobe.d/other.conf")
    assert chosen is not None and chosen.file == "/etc/modprobe.d/uvm.conf"
    assert found.chosen("nvidia_uvm", "uvm_disable_hmm", outside="/etc/modprobe.d/uvm.conf") is None


def test_the_scripts_run_here_and_answer_what_the_parsers_read(tmp_path: Path) -> None:
    (tmp_path / "sys/bus/pci/drivers/vfio-pci/0000:07:00.0").mkdir(parents=True)
    (tmp_path / "sys/module/nvidia_uvm/parameters").mkdir(parents=True)
    (tmp_path / "sys/module/nvidia_uvm/parameters/uvm_disable_hmm").write_text("Y\n")
    answers = [
        subprocess.run(
            ["sh", "-c", script],
            env={**os.environ, "QOPS_ROOT": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for script in (boot_loader.SCRIPT, pcie_control.SCRIPT)
    ]
    assert boot_loader.parse([text(answers[0])]) is not None
    control = pcie_control.parse([text(answers[1])])
    assert control is not None
    assert (control.vfio, control.hmm) == (("0000:07:00.0",), False)
