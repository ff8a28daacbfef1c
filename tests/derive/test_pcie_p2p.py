import pytest
from pcie_trees import OWN_ROOT, SWITCH, bridge, gpu, tree

from qops.derive import pcie_p2p
from qops.derive.hardware_class import HardwareClass
from qops.evidence.kernel import Iommu, KernelCommandLine, System
from qops.evidence.text import Quote

QUOTE = Quote("/proc/cmdline", 1, "root=/dev/sda1 ro")
PLAIN = KernelCommandLine(("root=/dev/sda1", "ro"), QUOTE)
TRANSLATING = Iommu(("ivhd0",), ("DMA-FQ",), QUOTE)
AMD = System(machine="x86_64", cpu_vendor="AuthenticAMD")


def test_below_one_switch_only_its_downstream_ports_lie_between() -> None:
    found = pcie_p2p.bridges(tree(SWITCH))
    assert [(b.address, b.redirects) for b in found] == [
        ("0000:05:00.0", ("ReqRedir", "CmpltRedir")),
        ("0000:05:04.0", ()),
    ]


def test_across_root_ports_all_of_both_ways_lies_between() -> None:
    found = pcie_p2p.bridges(tree(SWITCH + OWN_ROOT))
    assert [b.address for b in found] == ["0000:00:01.1", "0000:05:00.0", "0000:05:04.0", "0000:40:01.1"]
    assert str(found[-1]) == "0000:40:01.1 Broadcom / LSI PEX890xx PCIe Gen 5 Switch: ReqRedir"


def test_a_bridge_that_leads_to_no_gpu_or_to_one_alone_is_left_out() -> None:
    nic = bridge("0000:80:01.1", "81", "81") + "0000:81:00.0 Ethernet controller: Mellanox Technologies ConnectX-7\n"
    assert pcie_p2p.bridges(tree(OWN_ROOT + nic)) == ()


def test_without_root_access_control_is_not_seen() -> None:
    assert pcie_p2p.acs_seen(tree(SWITCH))
    assert not pcie_p2p.acs_seen(tree(bridge("0000:00:01.1", "04", "07", "") + gpu("0000:06:00.0")))


@pytest.mark.parametrize(
    ("hardware", "gpus", "nvswitch", "why"),
    [
        ("spark", 1, False, "a Spark has one GPU"),
        ("hgx", 8, True, "the GPUs talk over NVLink and NVSwitch"),
        ("rtx5090", 1, False, "with one GPU there is no peer"),
        ("rtxpro", 0, False, "no GPU was seen"),
        ("hgx", 8, False, ""),  # nobody saw NVLink: then PCIe may matter
        ("rtxpro", 2, False, ""),
    ],
)
def test_who_has_no_peers_on_pcie(hardware: str, gpus: int, nvswitch: bool, why: str) -> None:
    assert pcie_p2p.no_peers(HardwareClass(hardware), gpus, nvswitch).startswith(why)


def _iommu(at_work: Iommu | None, line: KernelCommandLine = PLAIN, system: System = AMD, why_not: str = "") -> str:
    return pcie_p2p.iommu(HardwareClass.RTXPRO, system, at_work, line, None, why_not=why_not).value


def test_pass_through_is_for_an_iommu_that_translates() -> None:
    assert _iommu(TRANSLATING) == "pt"
    assert _iommu(Iommu(("ivhd0",), ("DMA-FQ", "identity"), QUOTE)) == "pt"
    assert _iommu(Iommu((), (), QUOTE)) == ""  # none at work
    assert _iommu(Iommu(("ivhd0",), ("identity",), QUOTE)) == ""  # passes through by itself
    assert _iommu(TRANSLATING, system=System(hypervisor="KVM")) == ""
    assert _iommu(TRANSLATING, why_not="with one GPU there is no peer") == ""


def test_what_was_asked_for_stays_asked_for_once_it_is_in_force() -> None:
    running = KernelCommandLine(("root=/dev/sda1", "ro", "iommu=pt"), QUOTE)
    assert _iommu(Iommu(("ivhd0",), ("identity",), QUOTE), running) == "pt"


def test_options_of_a_mode() -> None:
    assert pcie_p2p.iommu_options("pt", "GenuineIntel") == {"iommu": "pt"}
    assert pcie_p2p.iommu_options("off", "GenuineIntel") == {"iommu": "off", "intel_iommu": "off"}
    assert pcie_p2p.iommu_options("off", "AuthenticAMD") == {"iommu": "off", "amd_iommu": "off"}
    assert pcie_p2p.iommu_options("off", "ARM") == {"iommu": "off"}


@pytest.mark.parametrize(
    ("present", "against"),
    [
        ({"iommu": "off"}, "iommu=off"),
        ({"amd_iommu": "off"}, "amd_iommu=off"),
        ({"intel_iommu": "on", "iommu": "pt"}, ""),
        ({}, ""),
    ],
)
def test_what_says_the_opposite(present: dict[str, str], against: str) -> None:
    assert pcie_p2p.contradiction("iommu", "pt", present) == against
