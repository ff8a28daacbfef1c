import pytest
from scenes import answer, quote, ras

from qops.derive.ranks import Member, flight_lags, member_of, names, ras_lags, ras_moves, torch_lags
from qops.evidence.process import Process, Processes
from qops.evidence.torch import FlightEntry, FlightRecord, FlightRecords, TorchLog, WatchdogTimeout, WorkState


def test_a_lag_that_stands_still_is_one() -> None:
    (lag,) = ras_lags(ras(answer(0, ("c1", (7, 6))), answer(5, ("c1", (7, 6))), answer(10, ("c1", (7, 6)))))
    assert [m.rank for m in lag.behind] == [1]
    assert (lag.low, lag.high, lag.answers, lag.seconds) == (6, 7, 3, 10.0)


def test_a_lag_that_moves_is_none() -> None:
    moving = ras(answer(0, ("c1", (7, 6))), answer(5, ("c1", (19, 18))))
    assert ras_lags(moving) == ()
    assert ras_moves(moving)


def test_equal_counts_are_no_lag() -> None:
    same = ras(answer(0, ("c1", (7, 7))), answer(5, ("c1", (7, 7))))
    assert ras_lags(same) == ()
    assert not ras_moves(same)


def test_last_words_of_the_ranks_name_the_one_behind() -> None:
    torch = TorchLog(
        timeouts=(WatchdogTimeout(0, quote("timeout"), 12, "ALLREDUCE"),),
        work=(WorkState(0, 12, 11, quote("rank 0")), WorkState(1, 11, 11, quote("rank 1"))),
    )
    (lag,) = torch_lags(torch)
    assert (lag.behind, lag.op, lag.final) == ((Member(1),), "ALLREDUCE", True)


def test_who_enqueued_ahead_waits_in_what_it_did_not_complete() -> None:
    work = tuple(WorkState(r, n, 2069, quote(f"rank {r}")) for r, n in ((7, 2082), (8, 2070), (13, 2070)))
    assert torch_lags(TorchLog(work=work)) == ()
    missing = (*work, WorkState(3, 2069, 2069, quote("rank 3")))
    (lag,) = torch_lags(TorchLog(work=missing))
    assert (lag.behind, lag.low, lag.high) == ((Member(3),), 2069, 2070)


def test_who_waits_for_nothing_in_a_group_makes_nobody_late_there() -> None:
    done = (WorkState(0, 6, 6, quote("rank 0")), WorkState(1, 5, 5, quote("rank 1")))
    assert torch_lags(TorchLog(work=done)) == ()


def test_a_flight_record_says_what_is_still_open() -> None:
    def dump(rank: int, done: int, last: int) -> FlightRecord:
        entries = tuple(
            FlightEntry(n, "all_reduce", "completed" if n <= done else "scheduled") for n in range(60, last + 1)
        )
        return FlightRecord(rank, quote(f"dump {rank}"), entries)

    assert flight_lags(FlightRecords((dump(0, 69, 82), dump(1, 69, 70)))) == ()
    (lag,) = flight_lags(FlightRecords((dump(0, 69, 82), dump(1, 69, 69))))
    assert (lag.behind, lag.low, lag.high) == ((Member(1),), 69, 70)


def test_all_in_the_same_collective_is_no_lag() -> None:
    assert torch_lags(TorchLog(work=(WorkState(0, 12, 11, quote("a")), WorkState(1, 12, 11, quote("b"))))) == ()


def test_names_are_what_a_person_would_say() -> None:
    assert names([Member(3, 77, 1)]) == "rank 3 (pid 77, GPU 1)"
    assert names([Member(1), Member(2), Member(5)]) == "ranks 1, 2 and 5"
    assert names([Member(r) for r in range(20)]) == "20 ranks"


@pytest.mark.parametrize(
    ("title", "rank"),
    [
        ("VLLM::Worker_TP1", 1),
        ("VLLM::Worker_DP0_TP3_EP3", 3),
        ("sglang::scheduler_TP0", 0),
        ("VLLM::Worker_PP1_TP0", None),  # which of all ranks that is depends on how many there are
        ("VLLM::Worker", None),
        ("VLLM::EngineCore", None),
        ("python3 VLLM::Worker_TP1", None),
        ("VLLM::Worker_TP99999999", None),
    ],
)
def test_a_rank_in_the_title_of_an_engines_worker(title: str, rank: int | None) -> None:
    seen = Processes((Process(5, quote("State: T"), name=title[:15]), Process(5, quote("State: T"), command=title)))
    assert member_of(5, None, None, None, None, seen).rank == rank
