import pytest
from judging import causes, diagnose, outcomes
from nccl_pictures import FAR, NODE, NVLINK, REDIRECT, RESULT, busy, gpu_list, p2p, spin, start, tree

from qops.rule import Confidence, Found, Role, RuledOut
from qops.rules.nccl.p2p_blocked_by_acs_iommu import p2p_blocked_by_acs_iommu as rule

HANG = {"topo.txt": FAR, "p2p.txt": p2p(), "lspci.txt": tree(REDIRECT), "smi.csv": spin(), "job.log": start()}


def test_redirect_above_the_gpus_and_a_stall() -> None:
    report = diagnose(HANG)
    assert report.root is not None and report.root.cause == "p2p-blocked-by-acs-iommu"
    assert report.root.confidence is Confidence.LIKELY
    assert "0000:00:01.1" in report.root.message and "PHB" in report.root.message
    assert any(f.kind == "workaround" and "custom-all-reduce" in f.text for f in report.root.fix)


def test_a_passing_run_with_p2p_off_makes_it_certain() -> None:
    arm = start("SHM/direct/direct", settings=["NCCL_P2P_DISABLE set by environment to 1"]) + RESULT
    files = HANG | {"job.log": start(), "p2p-off.log": arm}
    (found,) = outcomes(rule, files) or ()
    assert isinstance(found, Found)
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence[-1].source == "p2p-off.log"


def test_the_engines_own_all_reduce_is_hit_as_well() -> None:
    capture = "Capturing CUDA graphs (decode, FULL):   0%|     | 0/19 [00:00<?, ?it/s]\n"
    files = {"topo.txt": FAR, "lspci.txt": tree(REDIRECT), "env.txt": "NCCL_P2P_DISABLE=1\n", "engine.log": capture}
    assert causes(files)[:1] == ["p2p-blocked-by-acs-iommu"]
    off = "Custom allreduce is disabled because your platform lacks GPU P2P capability\n"
    assert "p2p-blocked-by-acs-iommu" not in causes(files | {"engine.log": off + capture})


def test_source_validation_alone_is_no_redirect() -> None:
    files = HANG | {
        "lspci.txt": tree("SrcValid"),
        "cmdline.txt": "BOOT_IMAGE=/vmlinuz ro quiet amd_iommu=off iommu=off\n",
    }
    assert "p2p-blocked-by-acs-iommu" not in causes(files)


def test_redirect_without_a_stall_is_only_a_warning() -> None:
    report = diagnose({"topo.txt": NODE, "lspci.txt": tree(REDIRECT)})
    (finding,) = [f for f in report.findings if f.cause == "p2p-blocked-by-acs-iommu"]
    assert finding.role is Role.CONTRIBUTING
    assert report.root is None


@pytest.mark.parametrize(
    "change",
    [
        {"topo.txt": NVLINK},
        {"smi.csv": busy(), "job.log": start() + RESULT},
        {"job.log": start("SHM/direct/direct")},
        {
            "lscpu.txt": "Architecture: x86_64\nVendor ID: AuthenticAMD\nHypervisor vendor: KVM\nVirtualization type: full\n"
        },
    ],
    ids=["NVLink", "works over P2P", "uses shared memory", "a virtual machine"],
)
def test_look_alikes(change: dict[str, str]) -> None:
    assert "p2p-blocked-by-acs-iommu" not in causes(HANG | change)


def test_collectives_that_end_over_p2p_rule_it_out() -> None:
    told = outcomes(rule, HANG | {"smi.csv": busy(), "job.log": start() + RESULT}) or ()
    assert [type(o) for o in told] == [RuledOut]


def test_ranks_at_different_operations_rule_it_out() -> None:
    head = "[rank{0}]:[E1004 09:20:00.0 ProcessGroupNCCL.cpp:632] [Rank {0}] Watchdog caught collective operation timeout: "
    work = "WorkNCCL(SeqNum={1}, OpType=ALLREDUCE, NumelIn=64, NumelOut=64, Timeout(ms)=600000) ran for 600012 milliseconds before timing out.\n"
    state = "[rank{0}]: [PG ID 0 PG GUID 0(default_pg) Rank {0}] failure detected by watchdog at work sequence id: {1} PG status: last enqueued work: {1}, last completed work: {2}\n"
    log = "".join((head + work + state).format(rank, number, number - 1) for rank, number in ((0, 8), (1, 7)))
    told = outcomes(rule, HANG | {"watchdog.log": log}) or ()
    assert [type(o) for o in told] == [RuledOut]


def test_a_pasted_control_word_counts() -> None:
    files = {"topo.txt": FAR, "smi.csv": spin(), "issue.txt": "both root ports: ACSCtl: 0x001d\n", "job.log": start()}
    assert causes(files)[:1] == ["p2p-blocked-by-acs-iommu"]


def test_consumer_boards_without_a_look_at_the_platform_are_not_blamed_on_it() -> None:
    files = {"topo.txt": FAR, "p2p.txt": p2p(), "smi.csv": spin(), "gpus.csv": gpu_list("NVIDIA GeForce RTX 4090")}
    assert "p2p-blocked-by-acs-iommu" not in causes(files)


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(rule, {}) is None


BANNER = "INFO 11-01 08:00:00 [pynccl.py:113] vLLM is using nccl==2.29.7\n"


def test_a_log_that_ends_at_nccl_beside_redirecting_bridges() -> None:
    files = {"topo.txt": FAR, "lspci.txt": tree(REDIRECT), "engine.log": BANNER}
    assert causes(files)[:1] == ["p2p-blocked-by-acs-iommu"]
    assert "p2p-blocked-by-acs-iommu" not in causes(files | {"smi.csv": busy()})
    assert "p2p-blocked-by-acs-iommu" not in causes(files | {"lspci.txt": tree("SrcValid")})
    assert "p2p-blocked-by-acs-iommu" not in causes({"topo.txt": FAR, "engine.log": BANNER})


def test_a_forced_level_is_the_nearer_cause_when_the_platform_was_not_seen() -> None:
    log = start("P2P/CUMEM", settings=["NCCL_P2P_LEVEL set by environment to SYS"])
    files = {"topo.txt": NODE, "job.log": log, "smi.csv": spin()}
    assert causes(files)[:1] == ["nccl-p2p-level-forced"]


def test_without_the_matrix_boards_that_have_no_nvlink_are_enough() -> None:
    dmesg = "[    0.71] iommu: Default domain type: Translated\n[    1.20] pci 0000:01:00.0: Adding to iommu group 17\n"
    files = {"job.log": start("P2P/CUMEM"), "dmesg.txt": dmesg, "smi.csv": spin()}
    assert "p2p-blocked-by-acs-iommu" not in causes(files)
    boards = {"gpus.csv": gpu_list("NVIDIA RTX PRO 6000 Blackwell Workstation Edition")}
    assert causes(files | boards)[:1] == ["p2p-blocked-by-acs-iommu"]


def test_the_iommu_refuses_what_a_gpu_writes() -> None:
    fault = "nvidia 0000:41:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x0011 address=0x90000040 flags=0x0020]\n"
    files = {"job.log": start("P2P/CUMEM"), "dmesg.txt": fault}
    assert causes(files)[:1] == ["p2p-blocked-by-acs-iommu"]
    assert causes(files | {"job.log": start("P2P/CUMEM") + RESULT}) == []
    assert causes({"dmesg.txt": fault}) == []
    assert causes({"dmesg.txt": fault + fault.replace("41:00", "61:00")}) == ["p2p-blocked-by-acs-iommu"]
    short = {"dmesg.txt": fault, "job.log": "n:1:2 [0] NCCL INFO Channel 00 : 0[41000] -> 1[61000] via P2P/IPC\n"}
    assert causes(short) == ["p2p-blocked-by-acs-iommu"]


@pytest.mark.parametrize(
    "fault",
    [
        "AMD-Vi: Event logged [IO_PAGE_FAULT device={} domain=0x0011 address=0x90000040 flags=0x0020]\n",
        "DMAR: [DMA Write NO_PASID] Request device [{}] fault addr 0xe0000000 [fault reason 0x05] PTE Write access is not set\n",
    ],
)
def test_a_refusal_that_names_only_an_address_counts_when_it_is_a_gpu(fault: str) -> None:
    boards = "index, pci.bus_id, name\n" + "".join(
        f"{i}, 00000000:{bus}:00.0, NVIDIA GeForce RTX 3090\n" for i, bus in enumerate(("1D", "1E"))
    )
    own = fault.format("1d:00.0") + fault.format("1e:00.0")
    assert causes({"gpus.csv": boards, "dmesg.txt": own}) == ["p2p-blocked-by-acs-iommu"]
    report = diagnose({"gpus.csv": boards, "dmesg.txt": own})
    assert "gpus-answer" not in [f.cause for f in report.findings]
    assert causes({"gpus.csv": boards, "dmesg.txt": fault.format("0a:00.0") + fault.format("0b:00.0")}) == []


def test_a_command_line_that_switches_the_iommu_on() -> None:
    line = "BOOT_IMAGE=/vmlinuz root=/dev/sda2 ro quiet intel_iommu=on{}\n"
    files = {"topo.txt": FAR, "p2p.txt": p2p(), "smi.csv": spin(), "cmdline.txt": line.format("")}
    (one,) = [o for o in outcomes(rule, files) or () if isinstance(o, Found)]
    assert one.confidence is Confidence.LIKELY and "translates" in one.message


def test_an_rdma_adapter_is_a_peer_as_well() -> None:
    denied = "n1:5:9 [3] transport/net_ib.cc:801 NCCL WARN NET/IB : Got completion with error {}, opcode 1, len 21938, vendor err 81\n"
    redirect = "\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-\n"
    assert causes({"job.log": denied.format(4), "lspci.txt": redirect}) == ["p2p-blocked-by-acs-iommu"]
    assert causes({"job.log": denied.format(4), "lspci.txt": redirect.replace("Redir+", "Redir-")}) == []
    assert causes({"job.log": denied.format(12), "lspci.txt": redirect}) == []
