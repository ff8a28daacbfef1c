from pathlib import Path

from judging import text
from mangling import parses_anything

from qops.evidence.torch import TorchLog
from qops.probes import torch_log

RECORDED = Path(__file__).parent.parent / "hosts/h200x2/cases"

WATCHDOG = """\
[rank5]:[E305 11:22:33.123456789 ProcessGroupNCCL.cpp:683] [Rank 5] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=311, OpType=ALLGATHER, NumelIn=512, NumelOut=4096, Timeout(ms)=600000) ran for 600041 milliseconds before timing out.
[rank5]:[E305 11:22:33.123456999 ProcessGroupNCCL.cpp:2241] [PG ID 2 PG GUID 3(tp) Rank 5]  failure detected by watchdog at work sequence id: 311 PG status: last enqueued work: 313, last started work: -1, last completed work: 310
[rank2]:[E305 11:22:38.123456789 ProcessGroupNCCL.cpp:1785] [PG ID 2 PG GUID 3(tp) Rank 2] Received a dump signal due to a collective timeout from  rank 5 and we will try our best to dump the debug info. Last enqueued NCCL work: 310, last completed NCCL work: 310.This is most likely caused by incorrect usages of collectives
terminate called after throwing an instance of 'c10::DistBackendError'
  what():  [PG ID 2 PG GUID 3(tp) Rank 5] Process group watchdog thread terminated with exception: [Rank 5] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=311, OpType=ALLGATHER, NumelIn=512, NumelOut=4096, Timeout(ms)=600000) ran for 600041 milliseconds before timing out.
"""

OLDER = """\
[E ProcessGroupNCCL.cpp:828] [Rank 7] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=88, OpType=BROADCAST, TensorShape=[1], Timeout(ms)=1800000) ran for 1800413 milliseconds before timing out.
[rank1]:[E ProcessGroupNCCL.cpp:1316] [PG 0 Rank 1] Timeout at NCCL work: 9, last enqueued NCCL work: 12, last completed NCCL work: 8.
[rank1]:[E ProcessGroupNCCL.cpp:563] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9, OpType=COALESCED, NumelIn=18446744073709551615, NumelOut=18446744073709551615, Timeout(ms)=1000) ran for 1001 milliseconds before timing out.
"""

LAUNCHER = """\
W0305 11:30:00.000000 900 torch/distributed/elastic/multiprocessing/api.py:908] Sending process 911 closing signal SIGTERM
E0305 11:30:09.000000 900 torch/distributed/elastic/multiprocessing/api.py:882] failed (exitcode: -9) local_rank: 3 (pid: 914) of binary: /usr/bin/python3
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.py FAILED
------------------------------------------------------------
Failures:
[1]:
  time      : 2026-03-05_11:30:05
  host      : node-b
  rank      : 9 (local_rank: 1)
  exitcode  : -15 (pid: 912)
  error_file: <N/A>
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-03-05_11:30:01
  host      : node-b
  rank      : 11 (local_rank: 3)
  exitcode  : -9 (pid: 914)
  error_file: <N/A>
  traceback : Signal 9 (SIGKILL) received by PID 914
============================================================
"""


def read(content: str) -> TorchLog:
    found = torch_log.parse([text(content)])
    assert found is not None
    return found


def test_the_watchdog_and_what_each_rank_had_enqueued() -> None:
    log = read(WATCHDOG)
    (timeout,) = log.timeouts
    assert (timeout.rank, timeout.sequence, timeout.op) == (5, 311, "ALLGATHER")
    assert (timeout.elements_in, timeout.elements_out, timeout.timeout_ms, timeout.ran_ms) == (
        512,
        4096,
        600000,
        600041,
    )
    assert timeout.quote.line == 1
    assert [(w.rank, w.group, w.enqueued, w.completed) for w in log.work] == [
        (5, "3(tp)", 313, 310),
        (2, "3(tp)", 310, 310),
    ]


def test_older_forms() -> None:
    log = read(OLDER)
    first, second = log.timeouts
    assert (first.rank, first.op, first.elements_in, first.timeout_ms) == (7, "BROADCAST", None, 1800000)
    assert (second.op, second.elements_in, second.elements_out) == ("COALESCED", None, None)
    (work,) = log.work
    assert (work.rank, work.group, work.enqueued, work.completed) == (1, "0", 12, 8)


def test_the_launchers_table_beats_its_one_line_report() -> None:
    log = read(LAUNCHER)
    assert [(e.rank, e.code, e.pid, e.root) for e in log.exits] == [(9, -15, 912, False), (11, -9, 914, True)]


def test_the_one_line_report_alone() -> None:
    (only,) = read(LAUNCHER.splitlines()[1]).exits
    assert (only.rank, only.code, only.pid, only.root) == (3, -9, 914, False)


def test_prefixed_lines() -> None:
    prefixed = "\n".join(f"trainer-0  | {line}" for line in (WATCHDOG + LAUNCHER).splitlines())
    log = read(prefixed)
    assert [(e.rank, e.root) for e in log.exits] == [(9, False), (11, True)]
    assert log.timeouts[0].rank == 5


def test_recorded_jobs() -> None:
    log = read((RECORDED / "hang_watchdog/job.log").read_text())
    assert {w.rank: (w.enqueued, w.completed) for w in log.work} == {0: (2, 1), 1: (1, 1)}
    log = read((RECORDED / "killed/job.log").read_text())
    assert [(e.rank, e.code) for e in log.exits if e.root] == [(1, -9)]


def test_other_texts_are_left_alone() -> None:
    assert torch_log.parse([text("rank 3 of 8\nexitcode 1\n")]) is None
    assert not torch_log.recognise(text("Watchdog started\n"))


def test_any_text_is_read() -> None:
    parses_anything(torch_log.PROBE, (WATCHDOG, OLDER, LAUNCHER), 300)


_SAID = (
    "[rank{0}]:[E820 11:47:24.06 ProcessGroupNCCL.cpp:607] [Rank {1}] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum={2}, OpType={3}, NumelIn=1, NumelOut=2, Timeout(ms)=600000) ran for 600001 milliseconds before "
    "timing out.\n"
    "[rank{0}]:[E820 11:47:24.07 ProcessGroupNCCL.cpp:1664] [PG {4} Rank {1}] Exception (either an error or timeout) "
    "detected by watchdog at work: {2}, last enqueued NCCL work: {2}, last completed NCCL work: 1.\n"
)


def test_a_timeout_belongs_to_the_group_that_says_where_it_stands() -> None:
    said = _SAID.format(0, 0, 2, "ALLREDUCE", 1) + _SAID.format(3, 1, 2, "BROADCAST", 4)
    log = torch_log.parse([text(said)])
    assert log is not None
    assert [(t.rank, t.group) for t in log.timeouts] == [(0, "1"), (3, "4")]
    assert [(w.rank, w.group) for w in log.work] == [(0, "1"), (3, "4")]


def test_two_groups_of_one_name_are_kept_apart() -> None:
    said = _SAID.format(0, 0, 2, "ALLREDUCE", 1) + _SAID.format(4, 0, 2, "BROADCAST", 1)
    log = torch_log.parse([text(said)])
    assert log is not None
    assert [t.group for t in log.timeouts] == ["1 on rank 0", "1 on rank 4"]


def test_what_ends_the_process_repeats_a_timeout_without_the_jobs_rank() -> None:
    said = _SAID.format(12, 4, 2, "ALLREDUCE", 1)
    again = (
        "  what():  [PG 1 Rank 4] Process group watchdog thread terminated with exception: " + said.split("] ", 1)[1]
    )
    log = torch_log.parse([text(said + again)])
    assert log is not None
    assert [(t.rank, t.group) for t in log.timeouts] == [(12, "1")]
    alone = torch_log.parse([text(again.splitlines()[0] + "\n")])
    assert alone is not None and [(t.rank, t.group) for t in alone.timeouts] == [(4, "1")]
