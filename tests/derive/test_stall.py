import pytest
from judging import text
from nccl_pictures import RESULT, busy, spin, start

from qops.derive import platform, stall
from qops.engine import observe
from qops.evidence.engine import EngineLogs, JobResults
from qops.evidence.gpu import Gpus, GpuSamples
from qops.evidence.kernel import Iommu, KernelCommandLine
from qops.evidence.message import Logs
from qops.evidence.nccl import NcclLog
from qops.evidence.text import Quote
from qops.evidence.torch import TorchLog


def kinds(**files: str) -> list[str]:
    seen = observe([text(content, name) for name, content in files.items()])
    asked = (seen.get(t) for t in (Logs, NcclLog, Gpus, GpuSamples, TorchLog, EngineLogs))
    return [s.kind for s in stall.signs(*asked)]  # type: ignore[arg-type]


def test_each_sign_is_of_its_own_kind() -> None:
    assert kinds(a=spin()) == ["samples"]
    assert kinds(a="WARNING: No available shared memory broadcast block found in 60 seconds.\n") == ["engine"]
    watchdog = (
        "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE, Timeout(ms)=600000)\n"
    )
    assert kinds(a=watchdog) == ["watchdog"]
    assert kinds(a="#        (B)    (elements)                     (us)  (GB/s)  (GB/s)\n") == ["tests"]
    assert kinds(a=start()) == ["silence"]
    assert "stated" in kinds(a="GPU utilization: 99%\nPower: about 118 W per card\n")


def test_work_shows_none() -> None:
    assert kinds(a=busy()) == []
    row = "#        (B)    (elements)   type\n    33554432       8388608     float     sum      -1   1432.1   23.43   23.43      0\n"
    assert kinds(a=row) == []
    assert kinds(a="GPU utilization: 99%\nPower: 560 W\n") == []


@pytest.mark.parametrize(("log", "stands"), [("", False), ("Graph capturing finished in 9 secs\n", False), ("x", True)])
def test_capture(log: str, stands: bool) -> None:
    step = "Capturing CUDA graphs (decode, FULL):  10%|#   | 2/19 [00:01<00:09]\n"
    seen = observe([text(("" if not log else step) + (log if log != "x" else ""), "engine.log")])
    assert (stall.in_capture(seen.get(Logs)) is not None) is stands


def test_results_show_that_it_works() -> None:
    seen = observe([text(RESULT, "job.log")])
    assert stall.works(seen.get(JobResults), None)
    assert not stall.works(None, None)


def test_when_an_iommu_translates() -> None:
    quote = Quote("cmdline", 1, "")
    off = KernelCommandLine(("ro", "iommu=off"), quote)
    through = KernelCommandLine(("ro", "iommu=pt"), quote)
    units = Iommu(("ivhd0",), ("DMA-FQ",), quote)
    assert platform.iommu_off(off, None) and platform.iommu_off(None, Iommu((), (), quote))
    assert platform.translation(units, None, None) == (quote,)
    assert platform.translation(units, through, None) == ()
    assert platform.translation(None, off, None) == ()
    assert platform.translation(Iommu(("ivhd0",), ("identity",), quote), None, None) == ()
