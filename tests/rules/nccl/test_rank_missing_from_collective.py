import pytest
from judging import causes, found, judged, outcomes
from msgspec.structs import replace
from scenes import IDLE, NO_LOGS, PIDS, WAITING, WORKING, answer, machine, processes, quote, ras, readings

from qops.evidence.nccl import Ras
from qops.evidence.process import Environment, Processes, Variable
from qops.rule import Confidence, Found, Role, RuledOut
from qops.rules.nccl.rank_missing_from_collective import rank_missing_from_collective as rule


def counted(first: int, last: int | None) -> Processes:
    """Two ranks, looked at twice, ten seconds apart: how often the second one's main thread was switched."""
    seen = [(0.0, first), (10.0, last)]
    return Processes(
        tuple(replace(p, at=at, switches=n) for at, n in seen for p in processes("R", "S (sleeping)").samples)
    )


STUCK = ras(*(answer(at, ("c1", (7, 6))) for at in (0, 5, 10)))


def test_ras_and_a_spinning_gpu_name_the_rank_for_certain() -> None:
    (one,) = found(rule, NO_LOGS, STUCK, readings(WAITING, IDLE), machine(), processes("R", "S"))
    assert one.subject == "rank 1 (pid 4102, GPU 1)"
    assert one.confidence is Confidence.CERTAIN
    assert "never issues AllReduce 7" in one.message


def test_one_ras_answer_alone_is_only_possible() -> None:
    (one,) = found(rule, NO_LOGS, ras(answer(0, ("c1", (7, 6)))))
    assert one.confidence is Confidence.POSSIBLE


def test_counts_that_grow_are_no_hang() -> None:
    moving = ras(answer(0, ("c1", (7, 6))), answer(5, ("c1", (90, 89))))
    assert found(rule, NO_LOGS, moving, readings(WORKING, WORKING), machine()) == []


def test_a_stopped_rank_is_another_fault() -> None:
    (one,) = judged(rule, NO_LOGS, STUCK, readings(WAITING, IDLE), machine(), processes("R", "T (stopped)")) or ()
    assert isinstance(one, RuledOut)
    assert "state T" in one.because


def test_a_rank_that_compiles_is_waited_for() -> None:
    busy = processes("R", "S", children=((), ("nvcc",)))
    (one,) = judged(rule, NO_LOGS, STUCK, readings(WAITING, IDLE), machine(), busy) or ()
    assert isinstance(one, RuledOut)
    assert "nvcc" in one.because


def test_ranks_that_lag_each_other_are_another_fault() -> None:
    crossed = ras(*(answer(at, ("c1", (7, 6)), ("c2", (3, 4))) for at in (0, 5)))
    (one,) = judged(rule, NO_LOGS, crossed, readings(WAITING, WAITING), machine()) or ()
    assert isinstance(one, RuledOut)


def test_without_ras_the_idle_gpu_names_the_process_and_its_environment_the_rank() -> None:
    environment = Environment((Variable("RANK", "1", f"pid {PIDS[1]}", quote("RANK=1")),))
    (one,) = found(rule, NO_LOGS, readings(WAITING, IDLE), machine(), counted(88, 88), environment, Ras(()))
    assert one.subject == "rank 1 (pid 4102, GPU 1)"
    assert one.confidence is Confidence.POSSIBLE and one.role is None
    assert "did not run once in 10 s" in one.message


@pytest.mark.parametrize("last", [96, None])
def test_without_ras_a_rank_that_may_only_be_late_is_no_cause(last: int | None) -> None:
    late = counted(88, last)
    (one,) = found(rule, NO_LOGS, readings(WAITING, IDLE), machine(), late)
    assert one.role is Role.SYMPTOM
    assert "py-spy dump --pid 4102" in one.message


def test_without_ras_a_busy_machine_is_left_alone() -> None:
    assert found(rule, NO_LOGS, readings(WORKING, WORKING), machine(), processes("R", "R")) == []


def test_nothing_seen_is_unknown() -> None:
    assert judged(rule) is None


ANALYSED = """Not all ranks joining collective, sequence number: 912
internal record id: 33
group info: 1:tp
collective: nccl:all_reduce
missing ranks: {3, 5}
input sizes: [[8, 512]]
expected ranks: {0, 1, 2, 3, 4, 5}
"""


def test_the_flight_recorders_analysis_names_them() -> None:
    (one,) = [f for f in outcomes(rule, {"fr.txt": ANALYSED}) or () if isinstance(f, Found)]
    assert one.subject == "ranks 3 and 5" and "912" in one.message
    assert causes({"fr.txt": "missing ranks: {3}\n"}) == []


def test_the_barrier_that_watches_names_them() -> None:
    line = "RuntimeError: [Rank 0]: Ranks 1, 2 failed to pass monitoredBarrier in 60000 ms\n"
    assert causes({"job.log": line}) == ["rank-missing-from-collective"]


def test_an_excerpt_of_ras_that_begins_with_the_communicator() -> None:
    ras = """#0-0 (51aa00000000beef) MISMATCH
  Communicator ranks have different AllReduce operation counts
  Rank 0 has launched up to operation 77 -- GPU 0 managed by process 811 on node 10.40.0.1
  Rank 1 has launched up to operation 78 -- GPU 1 managed by process 812 on node 10.40.0.1
"""
    assert causes({"ras.txt": ras}) == ["rank-missing-from-collective"]
