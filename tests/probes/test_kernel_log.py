import pytest
from judging import text

from qops.evidence.kernel import KernelLog, Xid
from qops.probes.kernel_log import parse, recognise


def read(content: str) -> KernelLog:
    loose = text(content, "dmesg.txt")
    assert recognise(loose)
    found = parse([loose])
    assert found is not None
    return found


def only(content: str) -> Xid:
    (xid,) = read(content).xids
    return xid


FULL = (
    "[ 4711.250001] NVRM: Xid (PCI:0000:41:00): 31, pid=4242, name=python3, Ch 0000000b, intr 00000000. "
    "MMU Fault: ENGINE GRAPHICS GPC2 GPCCLIENT_T1_3 faulted @ 0x7f20_10000000. Fault is of type FAULT_PDE"
)


def test_xid_of_a_current_driver() -> None:
    xid = only(FULL)
    assert (xid.code, xid.bus_id, xid.pid, xid.process, xid.at) == (31, "0000:41:00", 4242, "python3", 4711.250001)
    assert "MMU Fault" in xid.detail


@pytest.mark.parametrize(
    ("line", "code", "bus"),
    [
        ("NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.", 79, "0000:3b:00"),
        (
            "[Tue Dec  1 08:01:02 2026] NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>",
            79,
            "0000:3b:00",
        ),
        ("Dec  1 08:01:02 node7 kernel: NVRM: Xid (PCI:0000:3B:00 GPU-I:05): 94, Contained", 94, "0000:3b:00"),
        ("[   66.1] NVRM: Xid (0000:02:00): 31, Ch 00000002, engmask 00000101", 31, "0000:02:00"),
        ("NVRM: Xid: 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)", 154, ""),
        ("12-02 07:00:11 Xid 31 GPC0 GPCCLIENT_T1_2 @ 0x7ea0_3fa00000 FAULT_PDE", 31, ""),
        ("Xid 62 on both cards within the same second", 62, ""),
        ("  Xid 31 MMU fault: FAULT_PDE ACCESS_TYPE_VIRT_READ", 31, ""),
        ("gpu-operator | XID error: 48", 48, ""),
        ("gpu 3: xid 79", 79, ""),
    ],
)
def test_every_form_of_an_xid(line: str, code: int, bus: str) -> None:
    xid = only(line)
    assert (xid.code, xid.bus_id, xid.switch) == (code, bus, False)
    assert xid.pid is None
    assert xid.process == ""


def test_nvswitch_errors_are_told_apart() -> None:
    xid = only("[   91.445566] nvidia-nvswitch2: SXid (PCI:0000:c5:00.0): 20034, Fatal, Link 12 LTSSM Fault Up")
    assert (xid.code, xid.switch, xid.bus_id) == (20034, True, "0000:c5:00.0")


@pytest.mark.parametrize(
    "line",
    ["there is no Xid 79 in dmesg", "without any Xid 31", "XID 123456", "ext4 xid=0", "commit xid 73 done", "Xid 731"],
)
def test_no_xid_where_none_is_said(line: str) -> None:
    found = parse([text(line)])
    assert found is None or found.xids == ()


def test_one_kill_for_the_three_lines_of_one_event() -> None:
    log = read(
        "[  510.762654] python3 invoked oom-killer: gfp_mask=0x100cca(GFP_HIGHUSER_MOVABLE), order=0\n"
        "[  510.910332] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,"
        "oom_memcg=/system.slice/llm,task_memcg=/system.slice/llm,task=python3,pid=8123,uid=0\n"
        "[  510.917639] Memory cgroup out of memory: Killed process 8123 (python3) total-vm:90kB, anon-rss:80kB\n"
    )
    (kill,) = log.oom_kills
    assert (kill.pid, kill.process, kill.cgroup) == (8123, "python3", True)


def test_kills_of_old_and_new_kernels() -> None:
    log = read(
        "[ 10.000001] Out of memory: Kill process 77 (VLLM::Worker_TP) score 900 or sacrifice child\n"
        "[ 11.000001] Out of memory: Killed process 78 (python3) total-vm:1kB, anon-rss:1kB, file-rss:0kB\n"
    )
    assert [(k.pid, k.process, k.cgroup) for k in log.oom_kills] == [
        (77, "VLLM::Worker_TP", False),
        (78, "python3", False),
    ]


def test_a_lone_invocation_still_counts() -> None:
    (kill,) = read("    VLLM::Worker_TP invoked oom-killer: gfp_mask=0x102cc2(GFP_HIGHUSER)").oom_kills
    assert (kill.process, kill.pid) == ("VLLM::Worker_TP", None)


def test_the_drivers_own_out_of_memory_is_no_kill() -> None:
    assert read("NVRM: nvCheckOkFailedNoLog: Check failed: Out of memory [NV_ERR_NO_MEMORY]").oom_kills == ()


def test_pcie_errors() -> None:
    log = read(
        "[ 5.000001] pcieport 0000:40:01.1: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer\n"
        "[ 5.000002] pcieport 0000:40:01.1:   device [1022:14ab] error status/mask=00004020/04400000\n"
        "[ 6.000001] pcieport 0000:00:1c.0: AER: Corrected error received: 0000:01:00.0\n"
        "[ 7.000001] {1}[Hardware Error]:   device_id: 0000:c1:00.0\n"
        "[ 7.000002] {1}[Hardware Error]:   aer_uncor_status: 0x00000020, aer_uncor_mask: 0x00100000\n"
        "[ 8.000002] {2}[Hardware Error]:   aer_uncor_status: 0x00000000, aer_uncor_mask: 0x00100000\n"
    )
    assert [(e.device, e.severity, e.status) for e in log.aer] == [
        ("0000:40:01.1", "Uncorrected (Fatal)", 0x4020),
        ("0000:01:00.0", "Corrected", None),
        ("0000:c1:00.0", "Uncorrectable", 0x20),
    ]


def test_default_domain_is_no_sign_of_a_unit_at_work() -> None:
    log = read(
        "[    2.553212] iommu: Default domain type: Translated\n"
        "[    2.553213] iommu: DMA domain TLB invalidation policy: lazy mode\n"
        "[    0.010001] ACPI: DMAR 0x000000007B7E0000 0001F0\n"
        "[    0.430001] DMAR-IR: Enabled IRQ remapping in x2apic mode\n"
    )
    assert log.iommu_domain == "Translated"
    assert log.iommu_active == ()


@pytest.mark.parametrize(
    "line",
    [
        "[    1.2] DMAR: dmar3: Using Queued invalidation",
        "[    1.429330] DMAR: Intel(R) Virtualization Technology for Directed I/O",
        "[    0.910716] AMD-Vi: Interrupt remapping enabled",
        "[    0.358304] pci 0000:00:00.2: AMD-Vi: Found IOMMU cap 0x40",
        "[    0.910531] pci 0000:c5:00.3: Adding to iommu group 26",
        "[   99.000001] nvidia 0000:81:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x0051]",
    ],
)
def test_lines_of_a_unit_at_work(line: str) -> None:
    assert len(read(line).iommu_active) == 1


def test_a_quiet_log_is_evidence_too() -> None:
    log = read(
        "[    0.000000] Linux version 6.8.0-45-generic\n[    8.1] NVRM: loading NVIDIA UNIX Open Kernel Module\n"
    )
    assert log.xids == ()
    assert log.lines == 2
    assert len(log.nvidia_loaded) == 1


def test_dmesg_and_journal_count_once() -> None:
    journal = "[ 4711.250001] node7 kernel: " + FULL.partition("] ")[2]
    found = parse([text(FULL, "dmesg"), text(f"{journal}\n{journal}", "journal")])
    assert found is not None
    assert [x.quote.source for x in found.xids] == ["dmesg"]


def test_prose_is_not_a_kernel_log() -> None:
    assert not recognise(text("we saw a hang after upgrading; the kernel is 6.8\nINFO: serving on port 8000"))
