"""What roles change below the GPUs on a practice host: bridges, kernel options, module options, addresses."""

import socket
import struct
import time

import pytest
from simulated import Host, simulated_host  # noqa: F401

from qops.lab.sim import hardware, netdevs
from qops.lab.sim.tree import Tree

BRIDGE = "0000:05:00.0"


def _control(host: Host) -> str:
    rows = host.run("lspci", "-D", "-vvv", "-s", BRIDGE).rows
    return next(row.split("\t")[-1] for row in rows if "ACSCtl" in row)


def test_redirect_is_cleared_by_setpci_until_the_next_boot(host: Host) -> None:
    host.become("rtxpro8")
    host.plant(p2p_slow_acs_redirect={})
    host.at(time.time() + 1)
    assert host.run("setpci", "-s", BRIDGE, "ECAP_ACS+6.w").out == "001d\n"
    assert host.run("setpci", "-s", BRIDGE, "ECAP_ACS+6.w=0000:000c").status == 0
    assert host.run("setpci", "-s", BRIDGE[5:], "ECAP_ACS+0x6.w").out == "0011\n"
    assert _control(host) == "SrcValid+ TransBlk- ReqRedir- CmpltRedir- UpstreamFwd+ EgressCtrl- DirectTrans-"
    host.run("qops-lab-boot")
    assert "ReqRedir+ CmpltRedir+" in _control(host)


def test_a_fault_that_is_planted_later_shows(host: Host) -> None:
    host.become("rtxpro8")
    host.run("setpci", "-s", BRIDGE, "ECAP_ACS+6.w=0000")
    assert "SrcValid- " in _control(host)
    host.plant(p2p_slow_acs_redirect={})
    assert "ReqRedir+" in _control(host)


@pytest.mark.parametrize("words", [("-s", "0000:42:00.0", "ECAP_ACS+6.w"), ("-s", BRIDGE, "COMMAND.w"), ()])
def test_setpci_says_what_it_cannot(host: Host, words: tuple[str, ...]) -> None:
    answer = host.become("rtxpro8").run("setpci", *words)
    assert (answer.status, answer.out) == (1, "")
    assert answer.err.startswith("setpci: ")


def test_options_of_a_drop_in_are_those_of_the_next_boot(host: Host) -> None:
    host.become("rtx5090").run("qops-lab-boot")
    before = host.read("/proc/cmdline")
    assert host.read("/sys/kernel/iommu_groups/0/type") == "DMA-FQ"
    host.configure("etc/default/grub.d/90-qops.cfg", 'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX iommu=pt"\n')
    assert host.run("update-grub").status == 0
    config = (host.folder / "system/boot/grub/grub.cfg").read_text()
    assert "iommu=pt" in config and "BOOT_IMAGE" not in config
    assert host.read("/proc/cmdline") == before
    host.run("qops-lab-boot")
    assert host.read("/proc/cmdline") == f"{before} iommu=pt"
    assert host.read("/sys/kernel/iommu_groups/0/type") == "identity"


def test_heterogeneous_memory_management_as_the_module_was_told(host: Host) -> None:
    parameter = "/sys/module/nvidia_uvm/parameters/uvm_disable_hmm"
    host.become("rtx5090").run("qops-lab-boot")
    assert host.read(parameter) == "N"
    host.configure("etc/modprobe.d/uvm.conf", "options nvidia_uvm uvm_disable_hmm=1\n")
    host.run("qops-lab-boot")
    assert host.read(parameter) == "Y"
    host.become("spark").run("qops-lab-boot")
    (host.folder / "system/etc/modprobe.d/uvm.conf").unlink()
    host.run("qops-lab-boot")
    assert host.read(parameter) == "Y"  # off by default on arm64


def test_gid_tables_follow_the_addresses(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    host.become("spark-pair").run("qops-lab-boot")
    here = hardware.load()
    assert here is not None
    port = "/sys/class/infiniband/rocep1s0f0/ports/1"
    monkeypatch.setattr(netdevs, "address", lambda name: "10.1.2.3" if name == "enp1s0f0np0" else None)
    known: dict[str, str] = {}
    netdevs.follow(Tree(host.root), here.nics, known)
    assert known == {"enp1s0f0np0": "10.1.2.3"}
    assert host.read(port + "/gids/3") == "0000:0000:0000:0000:0000:ffff:0a01:0203"
    monkeypatch.setattr(netdevs, "address", lambda _: "")
    netdevs.follow(Tree(host.root), here.nics, known)
    assert host.read(port + "/gids/3").strip("0:") == ""
    assert not (host.root / port.lstrip("/") / "gid_attrs/types/3").exists()
    assert host.read(port + "/gids/1").startswith("fe80:")


def test_addresses_are_the_kernels_own(monkeypatch: pytest.MonkeyPatch) -> None:
    assert netdevs.address("no-such-interf") is None
    monkeypatch.setattr(netdevs.fcntl, "ioctl", lambda *_: struct.pack("20s4s", b"", socket.inet_aton("10.0.0.9")))
    assert netdevs.address("eth0") == "10.0.0.9"


def test_a_tests_folder_gets_no_interfaces(host: Host) -> None:
    host.become("spark-pair")
    here = hardware.load()
    assert here is not None and netdevs.make(here) == []
