"""The rules that turn remarks about NCCL settings into findings: they warn, and never accuse."""

from judging import causes, diagnose, outcomes

from qops.rule import Role, Severity
from qops.rules.nccl.nccl_setting_conflict import nccl_setting_conflict
from qops.rules.nccl.nccl_setting_no_effect import nccl_setting_no_effect
from qops.rules.nccl.nccl_setting_typo import nccl_setting_typo

ENV = "NCCL_P2P_LEVEL=node\nNCCL_P2P_DISABLE=0\nNCCL_SHM_DISABLED=1\n"


def test_typos_warn_and_do_not_make_a_fault() -> None:
    report = diagnose({"env.txt": ENV})
    typos = [f for f in report.findings if f.cause == "nccl-setting-typo"]
    assert {f.message.split("=")[0].split(",")[0] for f in typos} == {"NCCL_P2P_LEVEL", "NCCL has no NCCL_SHM_DISABLED"}
    assert all(f.role is Role.CONTRIBUTING and f.severity is Severity.WARNING for f in typos)
    assert causes({"env.txt": ENV}) == []


def test_a_value_that_does_nothing_is_only_said() -> None:
    (finding,) = [f for f in diagnose({"env.txt": ENV}).findings if f.cause == "nccl-setting-no-effect"]
    assert finding.severity is Severity.INFO and "NCCL_P2P_DISABLE=0" in finding.message


def test_a_conflict_quotes_both_sides() -> None:
    files = {"env.txt": "NCCL_P2P_DISABLE=1\nNCCL_P2P_LEVEL=SYS\n"}
    (finding,) = [f for f in diagnose(files).findings if f.cause == "nccl-setting-conflict"]
    assert [q.line for q in finding.evidence] == [2, 1]


def test_right_settings_say_nothing() -> None:
    right = {"env.txt": "NCCL_P2P_LEVEL=PHB\nNCCL_DEBUG=info\nNCCL_IB_DISABLE=1\nNCCL_VERSION=2.28.9-1\n"}
    for rule in (nccl_setting_typo, nccl_setting_conflict, nccl_setting_no_effect):
        assert outcomes(rule, right) == ()


def test_nothing_seen_is_unknown() -> None:
    for rule in (nccl_setting_typo, nccl_setting_conflict, nccl_setting_no_effect):
        assert outcomes(rule, {}) is None
