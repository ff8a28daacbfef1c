import pytest
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


LISTED = "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-aa)\n"


@pytest.mark.parametrize(
    "line",
    [
        "ImportError: /x/_C.abi3.so: undefined symbol: _ZN3c104\n",
        "n:1:1 [0] misc/new.cc:12 NCCL WARN something that is new failed with error 5\n",
        "ERROR 12-01 10:00:00 [core.py:700] EngineCore hit something that is new\n",
        "(Worker pid=7) ERROR 12-01 [worker.py:9] odd.module.NewException: what\n",
        "[   71.1] BUG: unable to handle page fault for address: ffff9f\n",
    ],
)
def test_an_error_that_nobody_knows_is_not_outweighed(line: str) -> None:
    assert diagnose({"smi.txt": LISTED, "engine.log": line}).verdict is Verdict.UNDETERMINED


@pytest.mark.parametrize(
    "line",
    [
        "h:1:2 [0] ras/client_support.cc:160 NCCL WARN Call to bind failed: Address already in use\n",
        "        Correctable Error                 : 0\n",
        "INFO 12-01 [api.py:3] --log-level=ERROR is set, errors are counted\n",
    ],
)
def test_what_is_known_or_no_error_leaves_it(line: str) -> None:
    assert diagnose({"smi.txt": LISTED, "engine.log": line}).verdict is Verdict.HEALTHY


def test_a_job_that_was_begun_and_shows_no_result_may_stand() -> None:
    begun = "n1:41:60 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via P2P/IPC\nn1:41:60 [0] NCCL INFO Connected all rings\n"
    assert diagnose({"smi.txt": LISTED, "job.log": begun}).verdict is Verdict.UNDETERMINED
    ended = begun + "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 11.7\n"
    assert diagnose({"smi.txt": LISTED, "job.log": ended}).verdict is Verdict.HEALTHY


def test_an_engine_whose_log_nobody_reads_here_may_stand() -> None:
    line = "[TRT-LLM] [I] Use 0.62 GB for model weights.\n"
    assert diagnose({"smi.txt": LISTED, "engine.log": line}).verdict is Verdict.UNDETERMINED
