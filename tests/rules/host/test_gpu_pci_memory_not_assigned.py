import pytest
from judging import causes, diagnose, outcomes

from qops.report import Verdict
from qops.rules.host.gpu_pci_memory_not_assigned import gpu_pci_memory_not_assigned

INVALID = """[    5.015] NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:
               NVRM: BAR1 is 0M @ 0x0 (PCI:0000:c1:00.0)
[    5.017] nvidia 0000:c1:00.0: probe with driver nvidia failed with error -1
"""


@pytest.mark.parametrize(
    "text",
    [
        INVALID,
        INVALID.replace("BAR1", "BAR0"),
        "NVRM: BAR1 is 0M @ 0x00000000 (PCI:0001:00.0)\nNVRM: The system BIOS may have misconfigured your GPU.\n",
        "NVRM: Fatal Error while attempting to resize PCIe BARs.\n",
        INVALID + "NVRM: GPU 0000:c1:00.0: RmInitAdapter failed! (0x24:0x72:1447)\nNo devices were found\n",
    ],
)
def test_the_driver_finds_no_address(text: str) -> None:
    assert causes({"dmesg.txt": text})[:1] == ["gpu-pci-memory-not-assigned"]


def test_the_kernels_own_lines_are_quoted_beside_it() -> None:
    lines = "nvidia 0000:c1:00.0: BAR 1 [mem size 0x800000000 64bit pref]: can't assign; no space\n"
    found = next(f for f in diagnose({"dmesg.txt": lines + INVALID}).findings if f.code == "HST022")
    assert "GPU 0000:c1:00.0" in found.subject
    assert any("can't assign" in q.text for q in found.evidence)


@pytest.mark.parametrize(
    "text",
    [
        "pci 0000:c1:00.0: BAR 1: no space for [mem size 0x10000000 64bit pref]\n"
        "pci 0000:c1:00.0: BAR 1: assigned [mem 0x40060000000-0x4006fffffff 64bit pref]\n",
        "pci 0000:c1:00.0: VF BAR 0: can't assign; no space\n",
        "    BAR1 Memory Usage\n        Total                             : 256 MiB\n",
    ],
)
def test_what_the_kernel_places_in_the_end_is_no_fault(text: str) -> None:
    report = diagnose({"log.txt": text})
    assert report.verdict is not Verdict.FAULT
    assert "gpu-pci-memory-not-assigned" not in [f.cause for f in report.findings]


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(gpu_pci_memory_not_assigned, {}) is None
