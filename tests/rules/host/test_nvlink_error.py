import pytest
from judging import causes, diagnose, outcomes

from qops.report import Verdict
from qops.rule import Found, Role, RuledOut
from qops.rules.host.nvlink_error import nvlink_error

ONE_END = "[  812.114] NVRM: Xid (PCI:0000:3b:00): 74, pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link 4\n"
SWITCH = "[  812.120] nvidia-nvswitch2: SXid (PCI:0000:a1:00.0): 20034, Fatal, Link 21 LTSSM Fault Up\n"


@pytest.mark.parametrize("code", [74, 144, 147, 150])
def test_both_ends_report_it(code: int) -> None:
    ends = "".join(f"NVRM: Xid (PCI:0000:{bus}:00): {code}, NVLink: error on link 4\n" for bus in ("3b", "86"))
    assert causes({"dmesg.txt": ends}) == ["nvlink-error"]
    assert causes({"dmesg.txt": ONE_END + SWITCH}) == ["nvlink-error"]


def test_one_end_alone_is_a_symptom() -> None:
    report = diagnose({"dmesg.txt": ONE_END})
    assert report.verdict is Verdict.UNDETERMINED
    assert {f.cause: f.role for f in report.findings}["nvlink-error"] is Role.SYMPTOM


def test_a_fatal_error_of_a_switch_says_which_part() -> None:
    (found,) = outcomes(nvlink_error, {"dmesg.txt": SWITCH}) or ()
    assert isinstance(found, Found)
    assert "SXid 20034, NVLink data link and lanes (DLPL)" in found.message


def test_a_gpu_that_left_the_bus_takes_its_links_along() -> None:
    lost = "NVRM: Xid (PCI:0000:3b:00): 79, pid=90, name=python3, GPU has fallen off the bus.\n"
    assert causes({"dmesg.txt": ONE_END + SWITCH + lost}) == ["gpu-fell-off-bus"]


def test_what_the_switch_calls_not_fatal_is_ruled_out() -> None:
    line = "nvidia-nvswitch0: SXid (PCI:0000:a1:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error\n"
    (outcome,) = outcomes(nvlink_error, {"dmesg.txt": line}) or ()
    assert isinstance(outcome, RuledOut)
    assert diagnose({"dmesg.txt": line}).verdict is Verdict.UNDETERMINED


@pytest.mark.parametrize("code", [31, 121, 155])
def test_other_xids_are_left_alone(code: int) -> None:
    assert not outcomes(nvlink_error, {"dmesg.txt": f"NVRM: Xid (PCI:0000:3b:00): {code}, pid=8, name=python3, text\n"})


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (19084, "transaction layer"),
        (20034, "data link"),
        (21010, "flow of packets"),
        (22003, "micro-controller"),
        (31001, "NVSwitch"),
    ],
)
def test_a_switch_code_is_named_by_its_block(code: int, words: str) -> None:
    (found,) = outcomes(nvlink_error, {"dmesg.txt": SWITCH.replace("20034", str(code))}) or ()
    assert isinstance(found, Found)
    assert words in found.message


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(nvlink_error, {}) is None
