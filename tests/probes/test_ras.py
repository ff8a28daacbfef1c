import json
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from judging import text
from mangling import parses_anything

from qops.evidence.nccl import Ras, RasAnswer
from qops.evidence.text import Text
from qops.probes import ras
from qops.probes.ras_client import CLIENT, SCRIPT
from qops.transports.base import lines

RECORDED = Path(__file__).parent.parent / "hosts/h200x2/cases"

HEAD = """\
SERVER PROTOCOL 2
OK
NCCL version 2.27.5 compiled with CUDA 12.9
CUDA runtime version 12090, driver version 12090

Job summary
===========

  Nodes  Processes         GPUs  Processes     GPUs
(total)   per node  per process    (total)  (total)
      1          4            1          4        4

Communicators... (0.01s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
"""

ONE_BEHIND = (
    HEAD
    + """\
    0         1         1         4         4         4   RUNNING  MISMATCH
    1         2         1         2         2         4   RUNNING      OK

Errors
======

Warnings
========

#0-0 (00ab12cd34ef5678) MISMATCH
  Communicator ranks have different AllReduce operation counts
  3 ranks have launched up to operation 41
  Rank 2 has launched up to operation 40 -- GPU 2 (NVML 6) managed by process 7103 on node 203.0.113.5

  Communicator ranks have different Broadcast operation counts
  2 ranks have launched up to operation 5
  Rank 0 -- GPU 0 managed by process 7101 on node 203.0.113.5
  Rank 1 -- GPU 1 managed by process 7102 on node 203.0.113.5
  2 ranks have not launched any operations

"""
)

SILENT = (
    HEAD
    + """\
    0         1         1       2-4         4         3   RUNNING  INCOMPLETE,ERROR

Errors
======

INCOMPLETE
  Missing communicator data from 1 job process
  Process 7104 on node 203.0.113.5 managing GPU 3

DEAD
  1 job process is considered dead (unreachable via the RAS network)
  Process 7103 on node 203.0.113.5 managing GPU 2

#0-0 (00ab12cd34ef5678) INCOMPLETE
  Missing communicator data from 2 ranks
  Rank 2 -- GPU 2 managed by process 7103 on node 203.0.113.5
  Rank 3 -- GPU 3 managed by process 7104 on node 203.0.113.5

#0-0 (00ab12cd34ef5678) ERROR
  Asynchronous error on 1 rank
  Rank 0 reported Remote process error -- GPU 0 managed by process 7101 on node 203.0.113.5

Warnings
========

TIMEOUT
  Encountered 1 communication timeout while gathering communicator data

"""
)


def document(*counts: int, missing: tuple[int, ...] = (), silent: bool = False) -> str:
    ranks = [
        {
            "rank": i,
            "host": "203.0.113.5",
            "pid": 7101 + i,
            "cuda_dev": i,
            "nvml_dev": i,
            "status": {
                "init_state": 0,
                "async_error": 0,
                "finalize_called": False,
                "destroy_flag": False,
                "abort_flag": False,
            },
            "collective_counts": {"Broadcast": 0, "AllReduce": n},
        }
        for i, n in enumerate(counts)
    ]
    absent = [
        {
            "rank": i,
            "host": "203.0.113.5",
            "pid": 7101 + i,
            "cuda_dev": i,
            "nvml_dev": i,
            "status": {"unresponsive": silent, "considered_dead": False},
        }
        for i in missing
    ]
    communicator = {
        "hash": "0xab12cd34ef5678",
        "secondary_hash": "0x1:0x2",
        "size": len(ranks) + len(absent),
        "ranks_count": len(ranks),
        "missing_ranks_count": len(absent),
        "ranks": ranks,
        "missing_ranks": absent,
    }
    return json.dumps(
        {
            "nccl_version": "2.29.2",
            "cuda_runtime_version": 13000,
            "cuda_driver_version": 13000,
            "timestamp": "2026-03-01 10:00:00",
            "communicators_count": 1,
            "communicators": [communicator],
            "ras": {"collection_time_sec": 0.001, "timeouts_count": 0},
        },
        indent=2,
    )


def read(content: str) -> tuple[RasAnswer, ...]:
    found = ras.parse([text(content)])
    return found.answers if found else ()


def test_the_ranks_that_ras_only_counts_are_filled_in() -> None:
    (answer,) = read(ONE_BEHIND)
    assert answer.version == "2.27.5"
    first, *fine = answer.communicators
    assert (first.id, first.size, first.status, first.problem) == ("00ab12cd34ef5678", 4, "RUNNING", "MISMATCH")
    assert [dict(r.operations) for r in first.ranks] == [
        {"AllReduce": 41, "Broadcast": 5},
        {"AllReduce": 41, "Broadcast": 5},
        {"AllReduce": 40, "Broadcast": 0},
        {"AllReduce": 41, "Broadcast": 0},
    ]
    late = first.ranks[2]
    assert (late.pid, late.gpu, late.host) == (7103, 2, "203.0.113.5")
    assert late.quote.text.startswith("Rank 2 has launched up to operation 40")
    assert [(c.id, c.size, c.problem, c.ranks) for c in fine] == [("#1-0", 2, "", ()), ("#1-1", 2, "", ())]


def test_silent_and_dead_ranks_and_errors() -> None:
    (answer,) = read(SILENT)
    (communicator,) = answer.communicators
    assert communicator.problem == "INCOMPLETE,ERROR"
    zero, two, three = communicator.ranks
    assert zero.error == "Remote process error"
    assert (two.missing, two.considered_dead, two.unresponsive) == (True, True, False)
    assert (three.missing, three.considered_dead, three.unresponsive) == (True, False, True)


def test_json() -> None:
    (answer,) = read("SERVER PROTOCOL 2\nOK\nOK\n" + document(7, 7, 6))
    assert answer.version == "2.29.2"
    (communicator,) = answer.communicators
    assert (communicator.id, communicator.status, communicator.problem) == ("00ab12cd34ef5678", "RUNNING", "MISMATCH")
    assert [dict(r.operations)["AllReduce"] for r in communicator.ranks] == [7, 7, 6]
    assert communicator.ranks[2].quote.text == '"rank": 2,'
    assert len({r.quote.line for r in communicator.ranks}) == 3
    assert read(document(7, 7))[0].communicators[0].problem == ""
    (gone,) = read(document(7, missing=(1,)))[0].communicators
    assert (gone.problem, gone.ranks[1].status, gone.ranks[1].unresponsive) == ("MISMATCH", "NOCOMM", False)
    (stopped,) = read(document(7, missing=(1,), silent=True))[0].communicators
    assert (stopped.problem, stopped.ranks[1].unresponsive) == ("INCOMPLETE", True)


def test_json_on_one_line_and_damaged_json() -> None:
    (answer,) = read(json.dumps(json.loads(document(3, 3))))
    assert len(answer.communicators[0].ranks) == 2
    assert read('{"nccl_version": "2.29.2", "communicators": ' + "[" * 100_000) == ()
    assert read(document(3, 3)[:-40]) == ()


def test_our_client_gives_both_forms_of_one_answer() -> None:
    (answer,) = read(f"=== RAS pid 7101\n{ONE_BEHIND}\n{document(41, 41, 40, 41)}")
    (communicator,) = answer.communicators
    assert [dict(r.operations)["AllReduce"] for r in communicator.ranks] == [41, 41, 40, 41]
    assert communicator.ranks[2].quote.text.startswith("Rank 2 has launched up to operation 40")


def test_several_jobs_in_one_sample_are_one_answer_and_samples_are_in_order() -> None:
    once = f"=== RAS pid 7101\n{ONE_BEHIND}\n=== RAS pid 8001\n{SILENT}\n=== RAS pid 9001\nno answer: 8 connections\n"
    texts = [Text("ras", lines(once.encode()), probe="ras", at=at) for at in (5.1, 0.1)]
    found = ras.parse(texts)
    assert isinstance(found, Ras)
    assert [(a.at, a.answered, len(a.communicators)) for a in found.answers] == [
        (0.1, True, 4),
        (0.1, False, 0),
        (5.1, True, 4),
        (5.1, False, 0),
    ]


@pytest.mark.parametrize(
    ("content", "answers"),
    [
        ("=== RAS\nTimeoutError('timed out')\n", [False]),
        ("=== RAS pid 3\nno answer: 8 connections and no greeting within 1.5 s\n", [False]),
        (f"=== RAS pid 3\n{HEAD.split('Group')[0]}no answer: the communicators did not come within 6 s\n", [False]),
        ("=== RAS pid 3\nno server: [Errno 111] Connection refused\n", []),
        ("=== RAS pid 3\nnot asked: may not enter the network of process 3\n", []),
        ("TimeoutError('timed out')\n", []),
        (f"=== RAS sample 1 1790000000.5\n{ONE_BEHIND}\n=== RAS sample 2 1790000003.5\n{ONE_BEHIND}", [True, True]),
        (ONE_BEHIND + ONE_BEHIND, [True, True]),
        (ONE_BEHIND.split("Communicators... ")[1], [True]),
    ],
)
def test_who_answered(content: str, answers: list[bool]) -> None:
    assert [a.answered for a in read(content)] == answers


def test_the_times_of_samples_in_one_file() -> None:
    assert [a.at for a in read("=== RAS sample 1 1790000000.5\n" + ONE_BEHIND)] == [1790000000.5]


def test_hostile_sizes() -> None:
    row = "    0 999999999         1         4 999999999         4   RUNNING  MISMATCH\n"
    begun = time.monotonic()
    (answer,) = read(HEAD + row * 50 + ONE_BEHIND.split("Warnings")[1] * 50)
    assert len(answer.communicators) <= 2001
    assert time.monotonic() - begun < 5


def test_recorded_jobs() -> None:
    def counts(case: str) -> list[list[dict[int, int]]]:
        content = (RECORDED / case / "state-while-running.txt").read_text()
        return [
            [{r.rank: dict(r.operations).get("AllReduce", -1) for r in c.ranks} for c in a.communicators]
            for a in read(content)
        ]

    assert counts("deadlock2") == [[{0: 1, 1: 2}, {0: 2, 1: 1}, {}]] * 2
    assert counts("jit") == [[{0: 1, 1: 2}]] * 2
    assert counts("membound") == [[{}]] * 2
    assert counts("stopped") == [[]]
    (left,) = read((RECORDED / "sizes/state-while-running.txt").read_text())
    assert [(r.rank, r.status) for r in left.communicators[0].ranks] == [(0, "RUNNING"), (1, "NOCOMM")]
    (missing,) = read((RECORDED / "hang_missing_rank/job.log").read_text())
    assert [dict(r.operations) for r in missing.communicators[0].ranks] == [{"AllReduce": 2}, {"AllReduce": 1}]


def test_any_text_is_read() -> None:
    parses_anything(ras.PROBE, (ONE_BEHIND, SILENT, document(7, 6, missing=(2,))), 300)


SERVER = """
import socket, sys, threading, time
mode, version, plain, full = sys.argv[1:5]
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen(50)
print(s.getsockname()[1], flush=True)
def serve(c):
    form = plain
    for line in c.makefile("r"):
        word = line.strip().upper()
        if word.startswith("CLIENT PROTOCOL"): c.sendall(b"SERVER PROTOCOL 2\\n")
        elif word == "SET FORMAT JSON" and version < "2.28.7": c.sendall(b"ERROR: Unknown command SET FORMAT json\\n")
        elif word == "SET FORMAT JSON": form = full; c.sendall(b"OK\\n")
        elif word.startswith("TIMEOUT "): c.sendall(b"OK\\n")
        elif word == "VERBOSE STATUS":
            c.sendall(form.encode()); c.shutdown(socket.SHUT_RDWR); c.close(); return
if mode == "stopped": time.sleep(60)
while True:
    c, _ = s.accept()
    threading.Thread(target=serve, args=(c,), daemon=True).start()
"""


@contextmanager
def server(mode: str, version: str) -> Iterator[int]:
    argv = [sys.executable, "-c", textwrap.dedent(SERVER), mode, version, ONE_BEHIND.split("OK\n", 1)[1]]
    with subprocess.Popen([*argv, document(41, 41, 40, 41)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as run:
        assert run.stdout is not None
        yield int(run.stdout.readline())
        run.kill()


def ask(port: int) -> str:
    done = subprocess.run(
        [sys.executable, "-c", CLIENT, f"127.0.0.1:{port}"], capture_output=True, timeout=20, check=True
    )
    return "=== RAS pid 1\n" + done.stdout.decode()


@pytest.mark.parametrize("version", ["2.24.3", "2.29.2"])
def test_the_client_asks_for_json_only_where_it_exists(version: str) -> None:
    with server("serving", version) as port:
        (answer,) = read(ask(port))
    assert answer.answered
    counted = {c.id: [dict(r.operations).get("AllReduce") for r in c.ranks] for c in answer.communicators}
    assert counted["00ab12cd34ef5678"] == [41, 41, 40, 41]
    assert len(counted) == (1 if version == "2.29.2" else 3)


def test_the_client_tells_silence_from_absence() -> None:
    with server("stopped", "2.29.2") as port:
        begun = time.monotonic()
        (answer,) = read(ask(port))
        assert not answer.answered
        assert time.monotonic() - begun < 6
    assert "no server: " in ask(port)
    assert read(ask(port)) == ()


def test_the_script_ends_and_is_sound() -> None:
    (command,) = ras.PROBE.asks
    argv = getattr(command, "argv", ())
    assert subprocess.run(["sh", "-n", "-c", argv[2]], check=False).returncode == 0
    begun = time.monotonic()
    done = subprocess.run(argv, capture_output=True, timeout=20, check=False)
    assert time.monotonic() - begun < 9
    assert done.stdout.startswith(b"=== RAS pid ")
    # 1: there is nobody to ask again.
    assert done.returncode == (1 if b"=== RAS pid none\nno server" in done.stdout else 0)


def test_a_comma_that_a_release_leaves_out_loses_nothing() -> None:
    broken = document(6, missing=(1,), silent=True).replace(
        '"nvml_dev": 1,\n          "status": {\n            "unresponsive"',
        '"nvml_dev": 1\n          "status": {\n            "unresponsive"',
    )
    assert broken != document(6, missing=(1,), silent=True)
    (answer,) = read(broken)
    here, gone = answer.communicators[0].ranks
    assert (dict(here.operations)["AllReduce"], here.pid) == (6, 7101)
    assert (gone.rank, gone.pid, gone.missing, gone.unresponsive) == (1, 7102, True, True)


def run_script(port: int, tmp_path: Path) -> tuple[str, bool]:
    """Run the host's script for a port: what it printed, and whether it started a client.

    Its exit status says whether there is somebody to ask again.
    """
    mark = tmp_path / "started"
    (tmp_path / "python3").write_text(f'#!/bin/sh\ntouch "{mark}"\nexec "{sys.executable}" "$@"\n')
    (tmp_path / "python3").chmod(0o755)
    # No process counts as one with a GPU, so that the port of this network is asked for.
    script = SCRIPT.replace("28028", str(port)).replace("libnccl|libcuda", "no-such-library")
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    done = subprocess.run(
        ["sh", "-c", script], capture_output=True, text=True, timeout=20, env=environment, check=False
    )
    assert (done.returncode == 0) is ("no server" not in done.stdout)
    return done.stdout, mark.exists()


def test_where_nothing_listens_no_client_is_started(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: nobody else gets it
        said, started = run_script(taken.getsockname()[1], tmp_path)
    assert "no server: nothing listens" in said
    assert not started
    assert ras.parse([text(said)]) is None


def test_where_something_listens_it_is_asked(tmp_path: Path) -> None:
    with server("serving", "2.29.2") as port:
        said, started = run_script(port, tmp_path)
    assert started
    (answer,) = read(said)
    assert answer.answered


def test_a_port_that_is_no_number_is_left_to_the_client() -> None:
    script = SCRIPT.replace("localhost:28028", "localhost:ras").replace("libnccl|libcuda", "no-such-library")
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=20, check=False)
    assert "no server:" in done.stdout and "nothing listens" not in done.stdout
