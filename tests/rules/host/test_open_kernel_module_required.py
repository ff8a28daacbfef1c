from judging import causes, outcomes

from qops.rule import Confidence, Found
from qops.rules.host.open_kernel_module_required import open_kernel_module_required


def test_closed_module_on_a_new_gpu() -> None:
    files = {
        "dmesg.txt": (
            "NVRM: installed in this system requires use of the NVIDIA open kernel modules.\n"
            "NVRM: GPU 0000:02:00.0: RmInitAdapter failed! (0x22:0x56:884)\n"
        ),
    }
    found = next(f for f in outcomes(open_kernel_module_required, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "open-kernel-module-required"


def test_look_alike_open_module_is_loaded() -> None:
    assert "open-kernel-module-required" not in causes(
        {
            "dmesg.txt": "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build\n",
        }
    )


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(open_kernel_module_required, {})
