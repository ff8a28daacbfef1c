import pytest
from msgspec.structs import replace
from pcie_trees import OWN_ROOT, SWITCH, tree

from qops.derive.derived import Derived
from qops.derive.hardware_class import HardwareClass
from qops.derive.setting import State
from qops.errors import UsageError
from qops.evidence.boot import BootLoader, BootSetting, ModuleOption, PcieControl
from qops.evidence.gpu import DriverParams
from qops.evidence.intent import Intent
from qops.evidence.kernel import Iommu, KernelCommandLine, System
from qops.evidence.pcie import PcieTree
from qops.evidence.text import Quote
from qops.plans import Plan
from qops.plans.pcie_p2p import DROP_IN, MODPROBE, PLAN

QUOTE = Quote("/proc/cmdline", 1, "root=/dev/sda1 ro")
RTXPRO = Derived(HardwareClass.RTXPRO, "nvidia-smi shows 3 boards")
BOOT = BootLoader("update-grub", QUOTE, ("root=/dev/sda1", "ro"), (BootSetting("/etc/default/grub", ("quiet",)),))
CONTROL = PcieControl(QUOTE, setpci=True, hmm=True)
SEEN = {
    PcieTree: tree(SWITCH + OWN_ROOT),
    Iommu: Iommu(("ivhd0",), ("DMA-FQ",), QUOTE),
    KernelCommandLine: KernelCommandLine(("root=/dev/sda1", "ro"), QUOTE),
    System: System(machine="x86_64", cpu_vendor="AuthenticAMD"),
    BootLoader: BOOT,
    PcieControl: CONTROL,
    DriverParams: DriverParams({"RegistryDwords": ""}, "params"),
}


def _plan(seen: dict[type, object] | None = None, hardware: Derived[HardwareClass] = RTXPRO, **options: object) -> Plan:
    return PLAN.make({**SEEN, **(seen or {})}, hardware, {**PLAN.defaults, **options})


def _states(plan: Plan) -> dict[str, State]:
    return {s.key: s.state for s in plan.settings}


def test_by_default_nothing_is_set_and_the_bridges_are_reported() -> None:
    plan = _plan()
    assert not plan.differs
    assert plan.intent == {} and plan.facts["intent"] is False
    assert all(f["state"] == "absent" for f in plan.facts["files"])
    assert plan.notes[0] == "3 of the bridges between GPUs redirect peer traffic to the root:"
    assert "  0000:05:00.0 Broadcom / LSI PEX890xx PCIe Gen 5 Switch: ReqRedir and CmpltRedir" in plan.notes


def test_a_reboot_is_reported_and_not_made() -> None:
    plan = _plan(iommu="auto")
    assert [str(s) for s in plan.settings] == [
        "kernel.iommu = pt (was not set): with translation each packet between GPUs goes up to the IOMMU, and on some "
        "boards is lost"
    ]
    assert plan.intent == {"kernel.iommu": "pt"}
    assert "reboot needed: iommu=pt is not in force yet (playbooks/reboot.yml)" in plan.notes
    assert {"dest": DROP_IN, "template": "grub.cfg.j2"} in plan.facts["files"]


def test_between_the_run_and_the_reboot_nothing_differs_and_the_reboot_is_still_needed() -> None:
    plan = _plan({BootLoader: replace(BOOT, next=("ro", "iommu=pt"))}, iommu="pt")
    assert not plan.differs
    assert any(n.startswith("reboot needed: iommu=pt") for n in plan.notes)


def test_a_run_that_was_cut_off_before_update_grub_goes_on() -> None:
    written = replace(BOOT, settings=(BootSetting(DROP_IN, ("iommu=pt",)),))
    assert _plan({BootLoader: written}, iommu="pt").facts["kernel_differs"]


def test_what_is_asked_for_no_more_is_taken_back_at_the_next_boot() -> None:
    before = Intent(("pcie_p2p",), "", {"kernel.iommu": "pt", "pcie.acs": "0000:05:00.0"})
    plan = _plan({BootLoader: replace(BOOT, next=("ro", "iommu=pt")), Intent: before})
    assert plan.facts["kernel_gone"] == ["iommu=pt"]
    assert plan.differs
    assert "redirect that was cleared comes back with the next boot" in plan.notes
    assert not _plan({Intent: before}).differs  # the next boot has it no more


def test_other_files_that_say_the_opposite_are_named() -> None:
    own = BootSetting("/etc/default/grub", ("iommu=off",))
    plan = _plan({BootLoader: replace(BOOT, settings=(own,))}, iommu="pt")
    assert plan.refused == ("/etc/default/grub has iommu=off, against iommu=pt: remove it there first",)


def test_grubby_and_no_boot_loader() -> None:
    plan = _plan({BootLoader: replace(BOOT, tool="grubby", settings=())}, iommu="pt", aspm="off")
    assert plan.facts["tool"] == "grubby"
    assert [k["option"] for k in plan.facts["kernel"]] == ["iommu=pt", "pcie_aspm=off"]
    assert {"dest": DROP_IN, "state": "absent"} in plan.facts["files"]
    (refused,) = _plan({BootLoader: BootLoader("", QUOTE)}, iommu="pt").refused
    assert refused.startswith("neither update-grub nor grubby is there")


def test_dgx_os_keeps_its_own_options() -> None:
    plan = _plan({BootLoader: replace(BOOT, vendor=True)}, iommu="pt", port_pm="off")
    assert not plan.differs
    assert plan.intent == {}
    assert "the vendor's image owns the kernel options, so iommu=pt pcie_port_pm=off was not set" in plan.notes[0]


@pytest.mark.parametrize(("hardware", "why"), [("spark", "a Spark has one GPU"), ("hgx", "NVLink and NVSwitch")])
def test_classes_that_need_nothing_say_why(hardware: str, why: str) -> None:
    from qops.evidence.gpu import Pair, Path, Topology

    nvlink = Topology((Pair("GPU0", "GPU1", Path.NV, QUOTE, 18),))
    plan = _plan({Topology: nvlink}, Derived(HardwareClass(hardware), "said"), iommu="auto", acs="clear")
    assert not plan.differs and not plan.refused
    assert all(why in s.because for s in plan.settings)
    assert {s.key for s in plan.settings} == {"kernel.iommu", "pcie.acs"}


def test_clearing_takes_the_bridges_between_gpus_and_no_other() -> None:
    plan = _plan(acs="clear")
    assert [b["address"] for b in plan.facts["bridges"]] == [
        "0000:00:01.1", "0000:05:00.0", "0000:05:04.0", "0000:40:01.1",
    ]  # fmt: skip
    assert _states(plan)["ACS of 0000:05:00.0"] is State.DIFFERS
    assert _states(plan)["ACS of 0000:05:04.0"] is State.SET  # it redirects nothing, and stays in the list
    assert plan.intent == {"pcie.acs": "0000:00:01.1 0000:05:00.0 0000:05:04.0 0000:40:01.1"}


def test_once_cleared_nothing_differs_and_the_list_is_the_same() -> None:
    cleared = tree((SWITCH + OWN_ROOT).replace("ReqRedir+", "ReqRedir-").replace("CmpltRedir+", "CmpltRedir-"))
    plan = _plan({PcieTree: cleared}, acs="clear")
    assert not plan.differs
    assert plan.facts["bridges"] == _plan(acs="clear").facts["bridges"]


@pytest.mark.parametrize(
    ("control", "word"),
    [
        (replace(CONTROL, vfio=("0000:41:00.0",)), "(0000:41:00.0)"),
        (replace(CONTROL, machines=("qemu-system-x86",)), "(qemu-system-x86)"),
        (replace(CONTROL, setpci=False), "install pciutils"),
    ],
)
def test_clearing_is_refused(control: PcieControl, word: str) -> None:
    (refused,) = _plan({PcieControl: control}, acs="clear").refused
    assert word in refused
    assert _plan({PcieControl: control}).refused == ()  # reporting is not


def test_clearing_is_refused_in_a_virtual_machine() -> None:
    (refused,) = _plan({System: System(hypervisor="KVM")}, acs="clear").refused
    assert "virtual machine" in refused


def test_access_control_that_nobody_could_read_is_unseen() -> None:
    blind = tree(
        "0000:06:00.0 3D controller: NVIDIA Corporation GB202GL\n" * 2 + "0000:07:00.0 3D controller: NVIDIA X\n"
    )
    assert _plan({PcieTree: blind}, acs="clear").unseen == ("pcie.acs",)


def test_module_options() -> None:
    plan = _plan(hmm="off", registry={"ForceP2P": "0x11", "RMForceP2PType": 1})
    assert plan.facts["modules"] == [
        {"module": "nvidia_uvm", "option": "uvm_disable_hmm", "value": "1"},
        {"module": "nvidia", "option": "NVreg_RegistryDwords", "value": "ForceP2P=0x11;RMForceP2PType=1"},
    ]
    (note,) = (n for n in plan.notes if "loaded anew" in n)
    assert "uvm_disable_hmm=1, RegistryDwords=ForceP2P=0x11;RMForceP2PType=1" in note
    assert {"dest": MODPROBE, "template": "modprobe.conf.j2"} in plan.facts["files"]


def test_module_options_in_a_file_of_somebody_else() -> None:
    theirs = ModuleOption("/etc/modprobe.d/uvm.conf", "nvidia_uvm", {"uvm_disable_hmm": "0"})
    (refused,) = _plan({PcieControl: replace(CONTROL, options=(theirs,))}, hmm="off").refused
    assert refused == "/etc/modprobe.d/uvm.conf sets uvm_disable_hmm=0 as well: remove it there first"
    ours = replace(theirs, file=MODPROBE, options={"uvm_disable_hmm": "1"})
    assert not _plan({PcieControl: replace(CONTROL, options=(ours,), hmm=False)}, hmm="off").differs


def test_what_was_not_seen_is_unseen() -> None:
    assert _plan({BootLoader: None}, iommu="pt").unseen == ("kernel.iommu",)
    assert _plan({PcieControl: None}, hmm="off").unseen == ("module.nvidia_uvm.uvm_disable_hmm",)


@pytest.mark.parametrize(
    "wrong", [{"iommu": "on"}, {"acs": "off"}, {"aspm": True}, {"registry": ["x"]}, {"registry": {"ForceP2P": "a;b=1"}}]
)
def test_values_that_cannot_be(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="pcie_p2p_"):
        _plan(**wrong)


def test_yaml_booleans_are_taken_for_the_words_that_they_were() -> None:
    assert _plan(aspm=False).intent == {"kernel.pcie_aspm": "off"}
