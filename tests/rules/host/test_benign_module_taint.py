from judging import diagnose, outcomes

from qops.report import Verdict
from qops.rules.host.benign_module_taint import benign_module_taint


def test_out_of_tree_is_no_fault() -> None:
    report = diagnose(
        {
            "dmesg.txt": "nvidia: loading out-of-tree module taints kernel.\n",
        }
    )
    assert "benign-module-taint" in [f.cause for f in report.findings]
    assert report.verdict is Verdict.HEALTHY


def test_look_alike_refused() -> None:
    assert not outcomes(
        benign_module_taint,
        {
            "dmesg.txt": (
                "nvidia: loading out-of-tree module taints kernel.\n"
                "modprobe: ERROR: could not insert 'nvidia': Key was rejected by service\n"
            ),
        },
    )


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(benign_module_taint, {})
