import subprocess
import sys

import pytest
from judging import text
from msgspec.structs import replace

from qops.evidence.process import Processes
from qops.evidence.text import Text
from qops.probes.process_script import DETAILS, ENVIRONMENT, STATES
from qops.probes.processes import PROBE, parse, recognise

SAMPLE = """== gpu processes
== pid 100
Name:	python3
State:	S (sleeping)
PPid:	1
VmRSS:	   14116 kB
Threads:	9
rchar: 1872604
wchan: do_wait
== pid 101
Name:	python3
State:	R (running)
PPid:	100
VmRSS:	   14088 kB
Threads:	8
voluntary_ctxt_switches:	410
nonvoluntary_ctxt_switches:	35
rchar: 1538411
wchan: 0
== pid 102
Name:	VLLM::Worker_TP
State:	T (stopped)
PPid:	100
Threads:	1
wchan: do_signal_stop
== process tree
process: 1 100 S 7 python3
process: 100 101 R 600 python3
process: 100 102 T 3 VLLM::Worker_TP
process: 101 110 S 4 nvcc
process: 110 111 R 250 cicc
"""
DETAILS_SAMPLE = """== gpu process details
cmdline 100: torchrun --nproc-per-node 2 train.py
cmdline 101: /usr/bin/python3 -u train.py
cmdline 102: VLLM::Worker_TP1
/proc/101/maps:/usr/lib/x86_64-linux-gnu/libcuda.so.580.95.05
/proc/101/maps:/opt/venv/lib/libnccl.so.2 (deleted)
"""


def read(content: str) -> Processes:
    loose = text(content, "state.txt")
    assert recognise(loose)
    found = parse([loose])
    assert found is not None
    return found


def test_the_answer_of_our_own_script() -> None:
    found = read(SAMPLE + DETAILS_SAMPLE)
    assert found.pids == (100, 101, 102)
    launcher, running, stopped = found.samples
    assert launcher.children == ((101, "python3"), (102, "VLLM::Worker_TP"))
    assert launcher.children_cpu_ticks == 600 + 3 + 4 + 250
    assert (running.state, running.cpu_ticks, running.children, running.children_cpu_ticks) == (
        "R",
        600,
        ((110, "nvcc"),),
        254,
    )
    assert (running.parent, running.threads, running.read_bytes, running.wchan) == (100, 8, 1538411, "")
    assert (launcher.switches, running.switches) == (None, 445)
    assert running.command == "/usr/bin/python3 -u train.py"
    assert running.libraries == (
        "/usr/lib/x86_64-linux-gnu/libcuda.so.580.95.05",
        "/opt/venv/lib/libnccl.so.2 (deleted)",
    )
    assert (stopped.state, stopped.wchan, stopped.name) == ("T", "do_signal_stop", "VLLM::Worker_TP")
    assert stopped.quote.text == "State:\tT (stopped)"


def test_samples_are_in_order_of_time() -> None:
    first = text(SAMPLE, "gpu processes")
    found = parse([replace(first, at=5.0), replace(first, at=0.0), replace(first, at=10.0)])
    assert found is not None
    assert [p.at for p in found.of(101)] == [0.0, 5.0, 10.0]


def test_details_come_in_an_answer_of_their_own() -> None:
    found = parse([text(SAMPLE, "gpu processes"), text(DETAILS_SAMPLE, "gpu process details")])
    assert found is not None
    assert found.samples[0].command.startswith("torchrun")
    assert parse([text(DETAILS_SAMPLE, "gpu process details")]) is None


def test_a_host_without_gpu_processes_has_answered() -> None:
    found = parse([Text("gpu processes", ("== gpu processes", "== process tree"), probe=PROBE.name)])
    assert found == Processes(())


def test_recording_with_headings() -> None:
    found = read(
        "== pid 31\n/opt/venv/bin/python3 -u job.py \nState:\tS (sleeping)\nVmRSS:\t  993144 kB\nThreads:\t8\n"
        "voluntary_ctxt_switches:\t221\nS 321 93 0 0\nrchar: 20923371\nsyscw: 98\ndo_wait\n/proc/31/task/31/children\n"
        "  PID STAT %CPU COMMAND\n   39 S     0.0 nvcc\nCan't get native stack traces with the --nonblocking option.\n"
        "=== RAS sample 1 1796038064.5\nSERVER PROTOCOL 2\n"
    )
    (one,) = found.samples
    assert (one.pid, one.command, one.state, one.wchan) == (31, "/opt/venv/bin/python3 -u job.py", "S", "do_wait")
    assert (one.cpu_ticks, one.read_bytes, one.threads, one.children) == (414, 20923371, 8, ((39, "nvcc"),))
    assert one.children_cpu_ticks is None


def test_recording_without_headings_and_with_stacks() -> None:
    tail = "4194560 177063 0 0 0 299 73 0 0 20 0 8 0 25878 325065003008 247579"
    found = read(
        f"/opt/venv/bin/python3 -u job.py \nState:\tR (running)\nVmLck:\t       0 kB\nThreads:\t8\n0\n"
        f"59 (python3) R 16 59 59 0 -1 {tail}\n"
        "Process 59: /opt/venv/bin/python3 -u job.py\nPython v3.12.3 (/usr/bin/python3.12)\n\n"
        'Thread 59 (active): "MainThread"\n    0x7fb84ddb946e (libcuda.so.580.1)\n    cuCtxSynchronize_v2 (libcuda.so.580.1)\n'
        "    synchronize (torch/cuda/__init__.py:1162)\n    <module> (job.py:62)\n"
        'Thread 70 (idle): "pin"\n    wait (threading.py:359)\n'
        f"/opt/venv/bin/python3 -u job.py \nState:\tT (stopped)\nThreads:\t8\ndo_signal_stop\n"
        f"60 (python3) T 16 60 60 0 -1 {tail}\n"
        "Process 60: /opt/venv/bin/python3 -u job.py\nPython v3.12.3 (/usr/bin/python3.12)\n\nError: Failed to get stack traces\n"
    )
    running, stopped = found.samples
    assert (running.pid, running.parent, running.state, running.cpu_ticks) == (59, 16, "R", 372)
    assert running.stack == ("cuCtxSynchronize_v2", "synchronize", "<module>")
    assert (stopped.pid, stopped.state, stopped.wchan, stopped.stack) == (60, "T", "do_signal_stop", ())
    assert stopped.command == "/opt/venv/bin/python3 -u job.py"


def test_a_pasted_status_file() -> None:
    (one,) = read(
        "$ cat /proc/77/status\nName:\tpython3\nUmask:\t0022\nState:\tD (disk sleep)\nTgid:\t77\nPid:\t77\nPPid:\t5\nThreads:\t3\n"
    ).samples
    assert (one.pid, one.name, one.state, one.parent, one.threads) == (77, "python3", "D", 5, 3)


@pytest.mark.parametrize(
    ("content", "pid", "state", "parent"),
    [
        (
            "USER PID %CPU %MEM VSZ RSS TTY STAT START TIME COMMAND\nroot 91 99.0 1.0 10 10 ? Dl 10:15 1:00 python3 -m vllm\n",
            91,
            "D",
            None,
        ),
        ("UID PID PPID C STIME TTY TIME CMD\nroot 91 7 0 10:15 ? 00:00:01 python3 -m vllm\n", 91, "", 7),
        (
            "    PID STAT WCHAN                            CMD\n     91 Zsl  do_exit   [python3] <defunct>\n",
            91,
            "Z",
            None,
        ),
        (
            "  PID USER PR NI VIRT RES SHR S %CPU %MEM TIME+ COMMAND\n 91 root 20 0 1 1 1 R 100.0 1.0 1:00.00 python3\n",
            91,
            "R",
            None,
        ),
    ],
)
def test_tables(content: str, pid: int, state: str, parent: int | None) -> None:
    (one,) = read(content).samples
    assert (one.pid, one.state, one.parent) == (pid, state, parent)
    assert "python3" in one.command


def test_of_a_whole_machine_only_what_may_concern_gpus() -> None:
    rows = "".join(f"root {n} 0 0 1 1 ? S 10:15 0:00 kworker-{n}\n" for n in range(1, 60))
    found = read(
        f"USER PID %CPU %MEM VSZ RSS TTY STAT START TIME COMMAND\n{rows}root 91 9 1 1 1 ? R 10:15 1:00 vllm serve\n"
        "root 92 0 0 1 1 ? S 10:15 0:00 grep vllm\n"
    )
    assert found.pids == (91,)


def test_the_scripts_touch_nothing() -> None:
    for script in (STATES, DETAILS, ENVIRONMENT):
        assert not any(word in script for word in ("kill ", "rm ", " >/tmp", "> /tmp", "mv ", "chmod"))


@pytest.mark.parametrize("line", ["State: healthy", "PID 5 died", "Process 5 failed", "INFO: Thread pool started"])
def test_words_about_processes_are_none(line: str) -> None:
    assert not recognise(text(line))


def test_a_process_that_an_engine_titled_is_found_without_a_gpu() -> None:
    code = "open('/proc/self/comm', 'w').write('VLLM::Worker_TP1'); print(flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as worker:
        assert worker.stdout is not None
        worker.stdout.readline()
        answers = [
            subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout
            for script in (STATES, DETAILS)
        ]
        worker.kill()
    found = parse([text(answer) for answer in answers])
    assert found is not None
    (seen,) = found.of(worker.pid)
    assert (seen.name, seen.state) == ("VLLM::Worker_TP", "S")  # the kernel keeps 15 characters
    assert code in seen.command
