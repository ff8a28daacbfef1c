from judging import diagnose, outcomes

from qops.report import Verdict
from qops.rules.host.nvml_failed import nvml_failed


def test_out_of_reach() -> None:
    report = diagnose(
        {
            "job.log": "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n",
        }
    )
    assert "nvml-failed" in [f.cause for f in report.findings]
    assert report.verdict is Verdict.UNDETERMINED


def test_look_alike_answers() -> None:
    assert not outcomes(
        nvml_failed,
        {
            "smi.txt": "GPU 0: NVIDIA L4 (UUID: GPU-aaaaaaaa-0000-0000-0000-000000000001)\n",
        },
    )


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(nvml_failed, {})
