from judging import causes, outcomes

from qops.rule import Confidence, Found
from qops.rules.cuda.backend_silent_garbage_on_arch import backend_silent_garbage_on_arch


def test_zeros_without_an_error() -> None:
    files = {
        "job.log": ("cutlass: all zeros (no error)\nmarlin: max difference 0.01\n"),
    }
    found = next(f for f in outcomes(backend_silent_garbage_on_arch, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.LIKELY
    assert found.evidence
    assert causes(files)[0] == "backend-silent-garbage-on-arch"


def test_nan_from_one_backend() -> None:
    files = {
        "job.log": "flashinfer_cutlass output is all NaN on this board, triton matches the reference\n",
    }
    found = next(f for f in outcomes(backend_silent_garbage_on_arch, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.LIKELY
    assert found.evidence
    assert causes(files)[0] == "backend-silent-garbage-on-arch"


def test_look_alike_mended_in_a_changelog() -> None:
    assert "backend-silent-garbage-on-arch" not in causes(
        {
            "job.log": "fixed: cutlass no longer returns zeros for odd batch sizes\n",
        }
    )


def test_look_alike_garbage_collector() -> None:
    assert "backend-silent-garbage-on-arch" not in causes(
        {
            "job.log": "triton cache: garbage collection took 3 s\n",
        }
    )


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(backend_silent_garbage_on_arch, {})
