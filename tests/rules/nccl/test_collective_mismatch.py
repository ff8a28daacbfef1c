from judging import causes, found, judged, outcomes
from msgspec.structs import replace
from scenes import IDLE, WAITING, answer, machine, processes, quote, ras, readings

from qops.evidence.nccl import Ras
from qops.evidence.torch import FlightEntry, FlightRecord, FlightRecords, TorchLog, WatchdogTimeout
from qops.rule import Confidence, Found
from qops.rules.nccl.collective_mismatch import collective_mismatch as rule


def _departed() -> Ras:
    one = answer(0, ("c1", (7, 7)))
    (communicator,) = one.communicators
    running, gone = (replace(r, operations=()) for r in communicator.ranks)
    return ras(replace(one, communicators=(replace(communicator, ranks=(running, replace(gone, status="NOCOMM"))),)))


def test_two_operations_under_one_number() -> None:
    log = TorchLog(
        timeouts=(
            WatchdogTimeout(3, quote("a"), 812, "ALLREDUCE", 2048, 2048),
            WatchdogTimeout(7, quote("b"), 812, "BROADCAST", 64, 64),
        )
    )
    (one,) = found(rule, log)
    assert (one.subject, one.confidence) == ("ranks 3 and 7", Confidence.CERTAIN)


def test_two_groups_count_for_themselves() -> None:
    tp = WatchdogTimeout(3, quote("a"), 812, "ALLREDUCE", 2048, 2048, group="1(tp)")
    dp = WatchdogTimeout(7, quote("b"), 812, "BROADCAST", 64, 64, group="2(dp)")
    assert not found(rule, TorchLog(timeouts=(tp, dp)))
    assert found(rule, TorchLog(timeouts=(tp, replace(dp, group=""))))


def test_the_same_operation_on_all_ranks_is_no_mismatch() -> None:
    log = TorchLog(timeouts=tuple(WatchdogTimeout(r, quote("a"), 9, "ALLREDUCE", 64, 64) for r in range(4)))
    assert found(rule, log) == []


def test_two_sizes_in_the_flight_recorders() -> None:
    records = FlightRecords(
        tuple(
            FlightRecord(r, quote("dump"), (FlightEntry(5, "all_reduce", "started", ((size,),)),))
            for r, size in enumerate((64, 32))
        )
    )
    (one,) = found(rule, records)
    assert "64" in one.message and "32" in one.message


def test_a_rank_that_left_while_another_waits() -> None:
    (one,) = found(rule, _departed(), readings(WAITING, IDLE), machine(), processes("R", "S"))
    assert one.confidence is Confidence.LIKELY


def test_a_dead_rank_is_another_fault() -> None:
    assert found(rule, _departed(), readings(WAITING, IDLE), machine(), processes("R", "Z")) == []


def test_nothing_seen_accuses_nobody() -> None:
    assert judged(rule) == ()


DIFFER = (
    "RuntimeError: Detected mismatch between collectives on ranks. Rank 2 is running collective: "
    "CollectiveFingerPrint(SequenceNumber=41, OpType=ALLREDUCE, TensorShape=[7, 9], TensorDtypes=BFloat16), but Rank 0 is "
    "running collective: CollectiveFingerPrint(SequenceNumber=41, OpType=ALLREDUCE, TensorShape=[7, 8], TensorDtypes=BFloat16)"
)


def test_pytorch_compared_them_itself() -> None:
    (one,) = [f for f in outcomes(rule, {"job.log": DIFFER}) or () if isinstance(f, Found)]
    assert one.subject == "ranks 2 and 0" and one.confidence is Confidence.CERTAIN
    assert causes({"job.log": DIFFER[:70] + "\n" + DIFFER[70:]})[:1] == ["collective-mismatch"]


def test_old_nccl_said_it_too() -> None:
    line = "init.cc:1203 NCCL WARN Mismatched collective detected, please check your collective calls at and around rank 5.\n"
    assert causes({"job.log": line})[:1] == ["collective-mismatch"]
