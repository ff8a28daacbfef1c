import pytest
from judging import causes, diagnose, found, judged, outcomes
from msgspec.structs import replace

from qops.evidence.gpu import Gpu, Gpus
from qops.evidence.message import Logs
from qops.evidence.text import Quote
from qops.report import Verdict
from qops.rule import Role, RuledOut
from qops.rules.host.gpu_needs_reset import gpu_needs_reset

GPU = Gpu(0, Quote("nvidia-smi -q", 9, "GPU Recovery Action : Reset"), bus_id="00000000:19:00.0")
XID = "NVRM: Xid (PCI:0008:01:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)\n"


@pytest.mark.parametrize("action", ["Reset", "Reboot", "Drain P2P", "Drain and Reset"])
def test_the_driver_asks_for_something(action: str) -> None:
    (one,) = found(gpu_needs_reset, Logs(), Gpus((replace(GPU, recovery_action=action),)))
    assert action in one.message and "00000000:19:00.0" in one.subject


@pytest.mark.parametrize("action", ["None", "", "N/A"])
def test_a_gpu_that_needs_nothing_is_left_alone(action: str) -> None:
    assert found(gpu_needs_reset, Logs(), Gpus((replace(GPU, recovery_action=action),))) == []


@pytest.mark.parametrize(
    "words", ["0x1 (GPU Reset Required)", "0x2 (Node Reboot Required)", "0x2 (OS Reboot)", "0x1 (PF FLR)"]
)
def test_the_kernel_log_says_it(words: str) -> None:
    report = diagnose({"dmesg.txt": XID.replace("0x1 (GPU Reset Required)", words)})
    assert report.findings[0].cause == "gpu-needs-reset"
    assert words[5:-1] in report.findings[0].message


def test_what_took_the_gpu_away_comes_first() -> None:
    lost = "NVRM: Xid (PCI:0008:01:00): 79, GPU has fallen off the bus.\n"
    report = diagnose({"dmesg.txt": lost + XID})
    assert report.findings[0].cause == "gpu-fell-off-bus"
    assert next(f for f in report.findings if f.cause == "gpu-needs-reset").role is Role.SYMPTOM


def test_a_change_to_none_asks_for_nothing() -> None:
    back = "NVRM: Xid (PCI:0008:01:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)\n"
    assert causes({"dmesg.txt": back}) == []


def test_an_older_line_is_outdone_by_what_the_driver_says_now() -> None:
    report = diagnose({"dmesg.txt": XID, "smi.txt": "GPU 00000000:01:00.0\n    GPU Recovery Action : None\n"})
    assert report.verdict is not Verdict.HEALTHY
    seen = Gpus((replace(GPU, recovery_action="None"),))
    logs = Logs(hits=tuple(h for h in _logs().hits))
    (one,) = judged(gpu_needs_reset, logs, seen) or ()
    assert isinstance(one, RuledOut)


def _logs() -> Logs:
    from judging import text

    from qops.probes.messages import parse

    return parse([text(XID, "dmesg.txt")])


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(gpu_needs_reset, {}) is None
