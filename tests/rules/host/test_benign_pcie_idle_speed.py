from judging import diagnose, outcomes

from qops.report import Verdict
from qops.rules.host.benign_pcie_idle_speed import benign_pcie_idle_speed


def test_gen_1_at_idle_is_no_fault() -> None:
    report = diagnose(
        {
            "smi.csv": (
                "index, pcie.link.gen.current, pcie.link.gen.max, pcie.link.width.current, "
                "pcie.link.width.max, utilization.gpu [%]\n"
                "0, 1, 5, 16, 16, 0 %\n"
            ),
        }
    )
    assert "benign-pcie-idle-speed" in [f.cause for f in report.findings]
    assert report.verdict is Verdict.HEALTHY


def test_look_alike_gen_1_under_load() -> None:
    assert not outcomes(
        benign_pcie_idle_speed,
        {
            "smi.csv": (
                "index, pcie.link.gen.current, pcie.link.gen.max, pcie.link.width.current, "
                "pcie.link.width.max, utilization.gpu [%]\n"
                "0, 1, 5, 16, 16, 97 %\n"
            ),
        },
    )


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(benign_pcie_idle_speed, {})
