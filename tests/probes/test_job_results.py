import pytest
from judging import text

from qops.evidence.engine import JobResult
from qops.probes.job_results import parse, recognise


def read(content: str) -> JobResult:
    found = parse([text(content)])
    assert found is not None
    (job,) = found.jobs
    return job


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("[rc=124]", 124),
        ("[rc=-9]", -9),
        ("exit code: 137", 137),
        ("Exit status 1", 1),
        ("llm-1 exited with code 139", 139),
        ("$ echo $?\n2", 2),
    ],
)
def test_exit_status(line: str, status: int) -> None:
    assert read(f"words\n{line}\n").exit_status == status


def test_measured_collective() -> None:
    (one,) = read("allreduce 256MiB 0.91 ms algbw 294.3 GB/s (2, 28, 9)\n").measured
    assert one[:3] == ("allreduce 256MiB", 0.91, 294.3)


def test_nccl_tests() -> None:
    job = read(
        "# Collective test starting: all_reduce_perf\n"
        "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong\n"
        "   268435456      67108864     float     sum      -1    912.4  294.21  294.21       0    910.1  294.95  294.95       0\n"
        "# Avg bus bandwidth    : 294.58\n"
    )
    assert [m[:3] for m in job.measured] == [
        ("all_reduce 268435456 B", 0.9124, 294.21),
        ("all_reduce average bus bandwidth", 0.0, 294.58),
    ]


@pytest.mark.parametrize("line", ["exitcode  : -9 (pid: 2078)", "the exit code was odd", "1 2 3 float", "2078"])
def test_other_lines(line: str) -> None:
    assert not recognise(text(line))
