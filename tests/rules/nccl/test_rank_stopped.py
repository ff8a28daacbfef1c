from judging import found, judged
from scenes import IDLE, WAITING, answer, machine, processes, quote, ras, readings

from qops.evidence.process import Process, Processes
from qops.evidence.torch import TorchLog, WorkerExit
from qops.rule import Confidence
from qops.rules.nccl.rank_stopped import rank_stopped as rule


def test_a_stopped_process_is_named_with_its_rank() -> None:
    known = ras(answer(0, ("c1", (7, 7))))
    (one,) = found(rule, processes("R (running)", "T (stopped)"), readings(WAITING, IDLE), machine(), known)
    assert one.subject == "rank 1 (pid 4102, GPU 1)"
    assert one.confidence is Confidence.CERTAIN


def test_a_rank_that_was_killed_first_is_named() -> None:
    log = TorchLog(exits=(WorkerExit(0, -15, quote("-15"), 11), WorkerExit(3, -9, quote("-9"), 14, root=True)))
    (one,) = found(rule, log)
    assert (one.subject, one.confidence) == ("rank 3 (pid 14)", Confidence.CERTAIN)
    assert "SIGKILL" in one.message


def test_the_launchers_own_sigterm_is_no_fault() -> None:
    assert (
        found(rule, TorchLog(exits=(WorkerExit(0, -15, quote("-15")), WorkerExit(1, 1, quote("1"), root=True)))) == []
    )


def test_a_shell_that_is_stopped_alone_is_no_fault() -> None:
    alone = Processes(processes("T", "S").samples[:1])
    assert found(rule, alone) == []


def test_nothing_seen_accuses_nobody() -> None:
    assert judged(rule) == ()


def test_an_engines_worker_is_named_by_its_title_where_nothing_else_tells_its_rank() -> None:
    seen = (
        Process(70, quote("State:\tS (sleeping)"), command="VLLM::EngineCore", state="S"),
        Process(71, quote("State:\tR (running)"), command="VLLM::Worker_TP0", state="R"),
        Process(72, quote("State:\tT (stopped)"), command="VLLM::Worker_TP1", state="T"),
    )
    (one,) = found(rule, Processes(seen))
    assert (one.subject, one.confidence) == ("rank 1 (pid 72)", Confidence.CERTAIN)
