from judging import found, judged
from scenes import NO_LOGS, WAITING, answer, machine, ras, readings

from qops.rule import Confidence
from qops.rules.nccl.communicator_order_deadlock import communicator_order_deadlock as rule

CROSSED = ras(*(answer(at, ("c1", (7, 6)), ("c2", (3, 4))) for at in (0, 5, 10)))


def test_two_ranks_that_lag_each_other_are_both_named() -> None:
    (one,) = found(rule, NO_LOGS, CROSSED, readings(WAITING, WAITING), machine())
    assert "rank 1 (pid 4102, GPU 1)" in one.subject and "rank 0 (pid 4101, GPU 0)" in one.subject
    assert one.confidence is Confidence.CERTAIN


def test_a_rank_that_lags_in_both_is_missing_not_deadlocked() -> None:
    same = ras(*(answer(at, ("c1", (7, 6)), ("c2", (4, 3))) for at in (0, 5)))
    assert found(rule, NO_LOGS, same) == []


def test_counts_that_move_are_no_deadlock() -> None:
    moving = ras(answer(0, ("c1", (7, 6)), ("c2", (3, 4))), answer(5, ("c1", (9, 8)), ("c2", (5, 6))))
    assert found(rule, NO_LOGS, moving) == []


def test_nothing_seen_is_unknown() -> None:
    assert judged(rule) is None
