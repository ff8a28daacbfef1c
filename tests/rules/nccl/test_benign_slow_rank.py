from judging import found, judged
from scenes import IDLE, WAITING, WORKING, answer, machine, processes, ras, readings

from qops.rules.nccl.benign_slow_rank import benign_slow_rank as rule
from qops.rules.nccl.rank_missing_from_collective import rank_missing_from_collective

MOVES = ras(answer(0, ("c1", (39, 38))), answer(5, ("c1", (42, 41))), answer(10, ("c1", (45, 44))))
STANDS = ras(answer(0, ("c1", (39, 38))), answer(5, ("c1", (39, 38))))


def test_a_late_rank_is_no_missing_one() -> None:
    (one,) = found(rule, MOVES, readings(WAITING, IDLE), machine())
    assert "operation counts grow" in one.message
    assert [q.text for q in one.evidence] == [
        f"Rank {rank} has launched up to operation {n}" for rank, n in ((0, 39), (1, 38), (0, 45), (1, 44))
    ]


def test_counts_that_stand_are_left_to_other_rules() -> None:
    assert found(rule, STANDS, readings(WAITING, IDLE), machine()) == []


def test_a_job_without_a_waiting_gpu_is_not_called_slow() -> None:
    assert found(rule, MOVES, readings(WORKING, WORKING), machine()) == []


def test_nobody_is_accused_while_the_counts_grow() -> None:
    from qops.evidence.message import Logs

    seen = (Logs(), readings(WAITING, IDLE), machine(), processes("R (running)", "S (sleeping)"))
    assert found(rank_missing_from_collective, *seen, MOVES) == []
    assert len(found(rank_missing_from_collective, *seen)) == 1  # without RAS nobody knows that it moves


def test_nothing_seen_is_unknown() -> None:
    assert judged(rule) is None
