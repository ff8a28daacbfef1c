"""The stand-in for a job over several hosts, on this machine: its ranks really wait for one that is stopped."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from loopback import free_port

from qops.lab import sim

JOB = Path(sim.__file__).parent / "bin" / "qops-lab-job"


@pytest.fixture
def job(tmp_path: Path) -> Iterator[tuple[list[Path], str]]:
    """Two ranks that run: the files that they write to, and the port by which they met."""
    port = str(free_port())
    words = ["--nnodes", "2", "--master-addr", "127.0.0.1", "--master-port", port]
    files = [tmp_path / f"rank{rank}" for rank in range(2)]
    started = []
    for rank, file in enumerate(files):
        with file.open("wb") as out:
            argv = [sys.executable, JOB, *words, "--node-rank", str(rank)]
            started.append(subprocess.Popen(argv, stdout=out, stderr=out, start_new_session=True))
    yield files, port
    for process in started:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)


def until(file: Path, words: str) -> bool:
    for _ in range(300):
        if words in file.read_text():
            return True
        time.sleep(0.1)
    return False


def worker(rank: int, port: str) -> int:
    """Return the process of a worker, as the simulator and a diagnosis find it."""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            title, environment = (path / "cmdline").read_bytes(), (path / "environ").read_bytes()
        except OSError:
            continue
        if title.startswith(f"VLLM::Worker_TP{rank}\0".encode()) and f"MASTER_PORT={port}\0".encode() in environment:
            assert f"\0RANK={rank}\0".encode() in b"\0" + environment
            assert (path / "comm").read_text() == "VLLM::Worker_TP\n"  # the kernel keeps 15 bytes
            return int(path.name)
    raise AssertionError(f"rank {rank} is not there")


def test_the_others_wait_for_a_rank_that_is_stopped_and_go_on_with_it(job: tuple[list[Path], str]) -> None:
    ranks, port = job
    assert all(until(file, f"rank {rank}: 101 sums") for rank, file in enumerate(ranks))
    stopped = worker(1, port)
    os.kill(stopped, signal.SIGSTOP)
    time.sleep(0.5)
    before = ranks[0].read_text()
    time.sleep(8)  # a hundred sums take five
    assert ranks[0].read_text() == before
    os.kill(stopped, signal.SIGCONT)
    assert until(ranks[0], "rank 0: 201 sums")
