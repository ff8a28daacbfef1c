from qops.engine import judge
from qops.evidence.text import Gap, Gaps
from qops.report import HostReport, Verdict
from qops.rules import LISTED


def report(*gaps: Gap) -> HostReport:
    return judge("host", "", {Gaps: Gaps(gaps)}, LISTED)


def test_a_time_out_is_a_symptom() -> None:
    found = report(Gap("nvidia-smi -q -x", "no answer in 20 s", "timeout", "gpus"))
    assert [f.cause for f in found.findings] == ["nvidia-smi-hung"]
    assert found.verdict is Verdict.UNDETERMINED


def test_look_alike_command_that_is_not_installed() -> None:
    assert not report(Gap("nvidia-smi -q -x", "not found", "missing", "gpus")).findings


def test_look_alike_time_out_of_another_command() -> None:
    assert not report(Gap("lspci -vvv", "no answer in 10 s", "timeout", "pcie")).findings


def test_nothing_asked_gives_no_finding() -> None:
    assert not report().findings
