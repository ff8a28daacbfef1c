from judging import causes, outcomes

from qops.rule import Confidence, Found
from qops.rules.cuda.ptxas_too_old_for_arch import ptxas_too_old_for_arch


def test_ptxas_does_not_know_it() -> None:
    files = {
        "job.log": "ptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'\n",
    }
    found = next(f for f in outcomes(ptxas_too_old_for_arch, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "ptxas-too-old-for-arch"


def test_nvcc_does_not_know_it() -> None:
    files = {
        "job.log": "nvcc fatal   : Unsupported gpu architecture 'compute_120'\n",
    }
    found = next(f for f in outcomes(ptxas_too_old_for_arch, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "ptxas-too-old-for-arch"


def test_flashinfer_wants_a_newer_toolkit() -> None:
    files = {
        "job.log": "RuntimeError: SM 12.x requires CUDA >= 12.9\n",
    }
    found = next(f for f in outcomes(ptxas_too_old_for_arch, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "ptxas-too-old-for-arch"


def test_look_alike_ptxas_info_is_no_error() -> None:
    assert "ptxas-too-old-for-arch" not in causes(
        {
            "job.log": "ptxas info    : Compiling entry function 'k' for 'sm_120'\n",
        }
    )


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(ptxas_too_old_for_arch, {})
