from judging import found, judged
from scenes import IDLE, PIDS, WAITING, answer, machine, processes, quote, ras, readings

from qops.evidence.nccl import Ras, RasAnswer, RasCommunicator, RasRank
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


def _missing(*, host: str = "n1", pid: int = 4102) -> Ras:
    ranks = (
        RasRank(0, quote("Rank 0"), PIDS[0], 0, "n1", "RUNNING", (("AllReduce", 2),)),
        RasRank(1, quote("Rank 1 -- GPU 1 managed by process 4102"), pid, 1, host, missing=True, unresponsive=True),
    )
    return Ras(
        (
            RasAnswer(
                True,
                quote("RAS"),
                0.0,
                "2.28.9",
                (RasCommunicator("c1", 2, "RUNNING", "INCOMPLETE", ranks, quote("c1")),),
            ),
        )
    )


def test_a_rank_whose_process_is_gone_is_named() -> None:
    only = Processes(processes("R", "S").samples[:1])
    (one,) = found(rule, only, readings(WAITING, IDLE), machine(), _missing())
    assert (one.subject, one.confidence) == ("rank 1 (pid 4102, GPU 1)", Confidence.CERTAIN)
    assert "its process is gone" in one.message


def test_a_rank_on_another_node_or_in_another_pid_namespace_is_not_called_gone() -> None:
    only = Processes(processes("R", "S").samples[:1])
    assert found(rule, only, readings(WAITING, IDLE), machine(), _missing(host="n2")) == []
    outside = Processes((Process(90_001, quote("State: R"), state="R"), Process(90_002, quote("State: S"), state="S")))
    assert found(rule, outside, readings(WAITING, IDLE), machine(), _missing()) == []
    assert found(rule, processes("R", "S"), readings(WAITING, IDLE), machine(), _missing()) == []
