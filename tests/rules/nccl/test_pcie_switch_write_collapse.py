from judging import causes, outcomes
from nccl_pictures import REDIRECT, SWITCH, tree

from qops.rule import RuledOut
from qops.rules.nccl.pcie_switch_write_collapse import pcie_switch_write_collapse as rule

RATES = "1 GPU writing to the other root: 51.2 GB/s\n4 GPUs writing to two roots together: 9.8 GB/s\n"
OFF = {"cmdline.txt": "BOOT_IMAGE=/vmlinuz-6.17 ro amd_iommu=off iommu=off\n"}


def test_writes_of_several_gpus_collapse() -> None:
    assert causes({"topo.txt": SWITCH, "rates.txt": RATES} | OFF) == ["pcie-switch-write-collapse"]


def test_a_shared_uplink_is_no_collapse() -> None:
    fair = "1 GPU writing to the other root: 51.2 GB/s\n2 GPUs writing to two roots together: 49.9 GB/s\n"
    assert causes({"topo.txt": SWITCH, "rates.txt": fair} | OFF) == []


def test_the_topology_alone_is_no_fault() -> None:
    assert causes({"topo.txt": SWITCH} | OFF) == []


def test_redirect_explains_it_otherwise() -> None:
    told = outcomes(rule, {"topo.txt": SWITCH, "rates.txt": RATES, "lspci.txt": tree(REDIRECT)}) or ()
    assert [type(o) for o in told] == [RuledOut]


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(rule, {}) is None
