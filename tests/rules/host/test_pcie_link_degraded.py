from judging import causes, outcomes

from qops.rule import Confidence, Found, RuledOut
from qops.rules.host.pcie_link_degraded import pcie_link_degraded


def test_narrow() -> None:
    files = {
        "smi.csv": (
            "index, pcie.link.gen.current, pcie.link.gen.max, pcie.link.width.current, "
            "pcie.link.width.max, utilization.gpu [%]\n"
            "0, 4, 4, 8, 16, 0 %\n"
        ),
    }
    found = next(f for f in outcomes(pcie_link_degraded, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.LIKELY
    assert found.evidence
    assert causes(files)[0] == "pcie-link-degraded"


def test_slow_under_load() -> None:
    files = {
        "smi.csv": (
            "index, pcie.link.gen.current, pcie.link.gen.max, pcie.link.width.current, "
            "pcie.link.width.max, utilization.gpu [%]\n"
            "0, 1, 5, 16, 16, 98 %\n"
        ),
    }
    found = next(f for f in outcomes(pcie_link_degraded, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.LIKELY
    assert found.evidence
    assert causes(files)[0] == "pcie-link-degraded"


def test_excerpt_of_lspci() -> None:
    files = {
        "lspci.txt": (
            "\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM L1\n\t\tLnkSta:\tSpeed 32GT/s, Width x4 (downgraded)\n"
        ),
    }
    found = next(f for f in outcomes(pcie_link_degraded, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.POSSIBLE
    assert found.evidence
    assert causes(files)[0] == "pcie-link-degraded"


def test_two_cards_that_are_alike_may_share_lanes() -> None:
    files = {
        "smi.csv": (
            "index, pcie.link.gen.current, pcie.link.gen.max, pcie.link.width.current, "
            "pcie.link.width.max\n"
            "0, 4, 4, 8, 16\n"
            "1, 4, 4, 8, 16\n"
        ),
    }
    found = next(f for f in outcomes(pcie_link_degraded, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.POSSIBLE
    assert found.evidence
    assert causes(files)[0] == "pcie-link-degraded"


def test_look_alike_full_width() -> None:
    assert "pcie-link-degraded" not in causes(
        {
            "smi.csv": (
                "index, pcie.link.gen.current, pcie.link.gen.max, pcie.link.width.current, "
                "pcie.link.width.max, utilization.gpu [%]\n"
                "0, 5, 5, 16, 16, 98 %\n"
            ),
        }
    )


def test_ruled_out_when_slow_at_idle() -> None:
    files = {
        "smi.csv": (
            "index, pcie.link.gen.current, pcie.link.gen.max, pcie.link.width.current, "
            "pcie.link.width.max, utilization.gpu [%]\n"
            "0, 1, 5, 16, 16, 0 %\n"
        ),
    }
    assert any(isinstance(o, RuledOut) for o in outcomes(pcie_link_degraded, files) or ())
    assert "pcie-link-degraded" not in causes(files)


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(pcie_link_degraded, {})
