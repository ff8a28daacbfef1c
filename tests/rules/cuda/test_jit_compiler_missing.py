from judging import causes, outcomes

from qops.rule import Confidence, Found, RuledOut
from qops.rules.cuda.jit_compiler_missing import jit_compiler_missing


def test_nvcc() -> None:
    files = {
        "job.log": ("RuntimeError: Could not find nvcc and default cuda_home='/opt/cuda-13.0' doesn't exist\n"),
    }
    found = next(f for f in outcomes(jit_compiler_missing, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "jit-compiler-missing"


def test_ninja() -> None:
    files = {
        "job.log": "RuntimeError: Ninja is required to load C++ extensions (pip install ninja to get it)\n",
    }
    found = next(f for f in outcomes(jit_compiler_missing, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "jit-compiler-missing"


def test_c_compiler() -> None:
    files = {
        "job.log": "RuntimeError: Failed to find C compiler. Please specify via CC environment variable.\n",
    }
    found = next(f for f in outcomes(jit_compiler_missing, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "jit-compiler-missing"


def test_shell_of_a_build() -> None:
    files = {
        "job.log": ("/bin/sh: 1: nvcc: not found\nninja: build stopped: subcommand failed.\n"),
    }
    found = next(f for f in outcomes(jit_compiler_missing, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "jit-compiler-missing"


def test_first_request_fails_after_a_good_start() -> None:
    files = {
        "job.log": (
            "INFO 11-30 10:00:01 [api_server.py:1234] vLLM API server version 0.17.0\n"
            "INFO 11-30 10:01:10 [launcher.py:28] Available routes are:\n"
            "INFO:     Application startup complete.\n"
            "RuntimeError: Failed to find C compiler. Please specify via CC environment variable.\n"
        ),
    }
    found = next(f for f in outcomes(jit_compiler_missing, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "jit-compiler-missing"


def test_look_alike_a_person_asked_for_the_version() -> None:
    assert "jit-compiler-missing" not in causes(
        {
            "job.log": ("$ nvcc --version\nbash: nvcc: command not found\n$ vllm --version\n0.17.0\n"),
        }
    )


def test_ruled_out_when_engine_serves() -> None:
    files = {
        "job.log": (
            "WARNING nvcc: not found, prebuilt kernels are used\n"
            "INFO 11-30 10:00:01 [api_server.py:1234] vLLM API server version 0.17.0\n"
            "INFO 11-30 10:01:10 [launcher.py:28] Available routes are:\n"
            "INFO:     Application startup complete.\n"
        ),
    }
    assert any(isinstance(o, RuledOut) for o in outcomes(jit_compiler_missing, files) or ())
    assert "jit-compiler-missing" not in causes(files)


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(jit_compiler_missing, {})
