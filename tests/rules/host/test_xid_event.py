from judging import diagnose, outcomes

from qops.report import Verdict
from qops.rules.host.xid_event import xid_event


def test_page_fault_alone() -> None:
    report = diagnose(
        {
            "dmesg.txt": "NVRM: Xid (PCI:0000:41:00): 31, pid=877, name=python3, MMU Fault\n",
        }
    )
    assert "xid-event" in [f.cause for f in report.findings]
    assert report.verdict is Verdict.UNDETERMINED


def test_unknown_code() -> None:
    report = diagnose(
        {
            "dmesg.txt": "NVRM: Xid (PCI:0000:41:00): 109, pid=877, name=python3, CTX SWITCH TIMEOUT\n",
        }
    )
    assert "xid-event" in [f.cause for f in report.findings]
    assert report.verdict is Verdict.UNDETERMINED


def test_look_alike_recovery_none() -> None:
    assert not outcomes(
        xid_event,
        {
            "dmesg.txt": (
                "NVRM: Xid (PCI:0000:41:00): 154, GPU recovery action changed from 0x1 (GPU Reset "
                "Required) to 0x0 (None)\n"
            ),
        },
    )


def test_look_alike_word_in_prose() -> None:
    assert not outcomes(
        xid_event,
        {
            "job.log": "no Xid was logged at 10:31\n",
        },
    )


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(xid_event, {})


def test_the_vendors_action_and_what_its_table_leaves_out() -> None:
    log = "NVRM: Xid (PCI:0000:01:00): 62, pid=7, name=python3, 0000(0000) 00000000\n"
    gpus = "index, name, memory.used [MiB]\n0, NVIDIA GeForce RTX 5090, 10 MiB\n"
    (found,) = outcomes(xid_event, {"dmesg.txt": log, "nvidia-smi.csv": gpus}) or ()
    assert "the vendor says: reset the GPU" in found.message
    assert "leaves out NVIDIA GeForce RTX 5090" in found.message


def test_a_code_of_a_switch_is_said_with_its_part() -> None:
    log = "nvidia-nvswitch0: SXid (PCI:0000:a1:00.0): 23008, Non-fatal, Tile 2\n"
    (found,) = outcomes(xid_event, {"dmesg.txt": log}) or ()
    assert found.message == "SXid 23008: crossbar"
