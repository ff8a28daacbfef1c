from judging import causes, outcomes

from qops.rule import Confidence, Found, RuledOut
from qops.rules.cuda.backend_unsupported_on_arch import backend_unsupported_on_arch


def test_trtllm_runner() -> None:
    files = {
        "job.log": (
            "RuntimeError: Error in function 'TllmGenFmhaRunner' at fmhaRunner.cuh:30: Unsupported architecture\n"
        ),
    }
    found = next(f for f in outcomes(backend_unsupported_on_arch, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "backend-unsupported-on-arch"


def test_flash_attention_of_old_gpus() -> None:
    files = {
        "job.log": "RuntimeError: FlashAttention only supports Ampere GPUs or newer.\n",
    }
    found = next(f for f in outcomes(backend_unsupported_on_arch, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "backend-unsupported-on-arch"


def test_backend_by_capability() -> None:
    files = {
        "job.log": "BackendSupportedError: mm_fp4 does not support backend 'trtllm' with capability 120\n",
    }
    found = next(f for f in outcomes(backend_unsupported_on_arch, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "backend-unsupported-on-arch"


def test_first_request_fails_after_a_good_start() -> None:
    files = {
        "job.log": (
            "INFO 11-30 10:00:01 [api_server.py:1234] vLLM API server version 0.17.0\n"
            "INFO 11-30 10:01:10 [launcher.py:28] Available routes are:\n"
            "INFO:     Application startup complete.\n"
            "RuntimeError: Assertion error (csrc/apis/attention.hpp:226): Unsupported architecture\n"
        ),
    }
    found = next(f for f in outcomes(backend_unsupported_on_arch, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.LIKELY
    assert found.evidence
    assert causes(files)[0] == "backend-unsupported-on-arch"


def test_look_alike_fall_back_is_no_failure() -> None:
    assert "backend-unsupported-on-arch" not in causes(
        {
            "job.log": "WARNING FlashMLA is not supported on this GPU, falling back to Triton\n",
        }
    )


def test_look_alike_unsupported_file_type() -> None:
    assert "backend-unsupported-on-arch" not in causes(
        {
            "job.log": "tar: unsupported architecture in archive header\n",
        }
    )


def test_ruled_out_when_engine_serves() -> None:
    files = {
        "job.log": (
            "INFO 11-30 10:00:01 [api_server.py:1234] vLLM API server version 0.17.0\n"
            "ERROR 11-30 10:00:02 [fa_utils.py:57] Cannot use FA version 3 is not supported due to "
            "FA3 is only supported on devices with compute capability >= 8 excluding 8.6 and 8.9 "
            "and Blackwell archs (>=10)\n"
            "INFO 11-30 10:01:10 [launcher.py:28] Available routes are:\n"
            "INFO:     Application startup complete.\n"
        ),
    }
    assert any(isinstance(o, RuledOut) for o in outcomes(backend_unsupported_on_arch, files) or ())
    assert "backend-unsupported-on-arch" not in causes(files)


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(backend_unsupported_on_arch, {})
