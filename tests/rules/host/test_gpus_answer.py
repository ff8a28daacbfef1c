from judging import diagnose, outcomes

from qops.report import Verdict
from qops.rules.host.gpus_answer import gpus_answer


def test_listed_is_no_fault() -> None:
    report = diagnose(
        {
            "smi.txt": "GPU 0: NVIDIA L4 (UUID: GPU-aaaaaaaa-0000-0000-0000-000000000001)\n",
        }
    )
    assert "gpus-answer" in [f.cause for f in report.findings]
    assert report.verdict is Verdict.HEALTHY


def test_look_alike_none_found() -> None:
    assert not outcomes(
        gpus_answer,
        {
            "smi.txt": "No devices were found\n",
        },
    )


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(gpus_answer, {})
