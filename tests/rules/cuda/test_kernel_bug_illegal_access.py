from judging import causes, outcomes

from qops.rule import Confidence, Found, RuledOut
from qops.rules.cuda.kernel_bug_illegal_access import kernel_bug_illegal_access


def test_with_a_page_fault() -> None:
    files = {
        "job.log": "torch.AcceleratorError: CUDA error: an illegal memory access was encountered\n",
        "dmesg.txt": (
            "[ 91.2] NVRM: Xid (PCI:0000:41:00): 31, pid=877, name=python3, channel 0x0000000a, "
            "intr 00000000. MMU Fault: ENGINE GRAPHICS\n"
        ),
    }
    found = next(f for f in outcomes(kernel_bug_illegal_access, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.LIKELY
    assert found.evidence
    assert causes(files)[0] == "kernel-bug-illegal-access"


def test_error_alone() -> None:
    files = {
        "job.log": "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered\n",
    }
    found = next(f for f in outcomes(kernel_bug_illegal_access, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.POSSIBLE
    assert found.evidence
    assert causes(files)[0] == "kernel-bug-illegal-access"


def test_look_alike_xid_31_alone_is_a_symptom() -> None:
    assert "kernel-bug-illegal-access" not in causes(
        {
            "dmesg.txt": "NVRM: Xid (PCI:0000:41:00): 31, pid=877, name=python3, MMU Fault\n",
        }
    )


def test_ruled_out_when_memory_is_broken() -> None:
    files = {
        "job.log": "CUDA error: an illegal memory access was encountered\n",
        "dmesg.txt": ("NVRM: Xid (PCI:0000:41:00): 48, pid=877, name=python3, An uncorrectable double bit error\n"),
    }
    assert any(isinstance(o, RuledOut) for o in outcomes(kernel_bug_illegal_access, files) or ())
    assert "kernel-bug-illegal-access" not in causes(files)


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(kernel_bug_illegal_access, {})


def test_look_alike_page_fault_of_an_engine_that_runs_no_kernels() -> None:
    fault = "NVRM: Xid (PCI:0000:2d:00): 31, pid=5120, name=browser, Ch 00000011, intr 00000000. MMU Fault: ENGINE "
    kind = " faulted @ 0x0_1c200000. Fault is of type FAULT_PTE ACCESS_TYPE_VIRT_READ\n"
    assert causes({"dmesg.txt": f"{fault}CE3 HUBCLIENT_CE1{kind}"}) == []
    assert causes({"dmesg.txt": f"{fault}GRAPHICS GPC2 GPCCLIENT_T1_4{kind}"}) == ["kernel-bug-illegal-access"]
