from judging import causes, outcomes

from qops.rule import Confidence, Found, RuledOut
from qops.rules.host.gpu_memory_ecc_hardware import gpu_memory_ecc_hardware


def test_cuda_says_so() -> None:
    files = {
        "job.log": "RuntimeError: CUDA error: uncorrectable ECC error encountered\n",
    }
    found = next(f for f in outcomes(gpu_memory_ecc_hardware, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "gpu-memory-ecc-hardware"


def test_contained_error() -> None:
    files = {
        "dmesg.txt": (
            "kernel: NVRM: Xid (PCI:0000:41:00): 94, pid=401, name=python3, Contained: SM (0x1). RST: No, D-RST: No\n"
        ),
    }
    found = next(f for f in outcomes(gpu_memory_ecc_hardware, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "gpu-memory-ecc-hardware"


def test_remap_recorded() -> None:
    files = {
        "dmesg.txt": (
            "NVRM: Xid (PCI:0000:41:00): 63, pid=401, name=python3, Row Remapper: New row (0x1) "
            "marked for remapping, reset gpu to activate.\n"
        ),
    }
    found = next(f for f in outcomes(gpu_memory_ecc_hardware, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.POSSIBLE
    assert found.evidence
    assert causes(files)[0] == "gpu-memory-ecc-hardware"


def test_a_gpu_that_was_reset_since_is_left_alone_and_another_is_not() -> None:
    files = {
        "dmesg.txt": "kernel: NVRM: Xid (PCI:0000:41:00): 63, pid=401, name=python3, Row Remapper: New row (0x1) marked\n"
        "kernel: NVRM: Xid (PCI:0000:41:00): 94, pid=401, name=python3, Contained: SM (0x1). RST: No, D-RST: No\n",
        "smi.csv": "index, pci.bus_id, ecc.errors.uncorrected.volatile.total, remapped_rows.pending, remapped_rows.failure\n"
        "0, 00000000:41:00.0, 0, No, No\n",
    }
    assert [type(one) for one in outcomes(gpu_memory_ecc_hardware, files) or ()] == [RuledOut]
    other = files | {"smi.csv": files["smi.csv"].replace(":41:", ":42:")}
    assert causes(other)[0] == "gpu-memory-ecc-hardware"
    waits = files | {"smi.csv": files["smi.csv"].replace("0, No, No", "0, Yes, No")}
    assert causes(waits)[0] == "gpu-memory-ecc-hardware"


def test_look_alike_zero_counts() -> None:
    assert "gpu-memory-ecc-hardware" not in causes(
        {
            "smi.txt": ("            DRAM Uncorrectable            : 0\n        Remapping Failure Occurred : No\n"),
        }
    )


def test_look_alike_out_of_memory() -> None:
    assert "gpu-memory-ecc-hardware" not in causes(
        {
            "job.log": "torch.OutOfMemoryError: CUDA out of memory.\n",
        }
    )


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(gpu_memory_ecc_hardware, {})
