from judging import causes, outcomes

from qops.rule import Confidence, Found
from qops.rules.cuda.no_visible_gpu import no_visible_gpu


def test_error_without_a_mask_is_only_possible() -> None:
    files = {
        "job.log": ("Traceback (most recent call last):\nRuntimeError: No CUDA GPUs are available\n"),
    }
    found = next(f for f in outcomes(no_visible_gpu, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.POSSIBLE
    assert found.evidence
    assert causes(files)[0] == "no-visible-gpu"


def test_mask_of_minus_one() -> None:
    files = {
        "job.log": ("$ CUDA_VISIBLE_DEVICES=-1 python3 serve.py\nRuntimeError: No CUDA GPUs are available\n"),
    }
    found = next(f for f in outcomes(no_visible_gpu, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "no-visible-gpu"


def test_mask_names_an_absent_gpu() -> None:
    files = {
        "job.log": ("$ env CUDA_VISIBLE_DEVICES=5 python3 serve.py\nRuntimeError: No CUDA GPUs are available\n"),
        "smi.txt": "GPU 0: NVIDIA L40S (UUID: GPU-aaaaaaaa-0000-0000-0000-000000000001)\n",
    }
    found = next(f for f in outcomes(no_visible_gpu, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "no-visible-gpu"


def test_container_was_given_none() -> None:
    files = {
        "job.log": ("NVIDIA_VISIBLE_DEVICES=void\nno CUDA-capable device is detected\n"),
    }
    found = next(f for f in outcomes(no_visible_gpu, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "no-visible-gpu"


def test_look_alike_a_log_without_the_error_is_no_fault() -> None:
    assert "no-visible-gpu" not in causes(
        {
            "job.log": ("CUDA_VISIBLE_DEVICES=0\ntorch.cuda.is_available() -> True\nserving\n"),
        }
    )


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(no_visible_gpu, {})
