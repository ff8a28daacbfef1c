"""Two hosts with one job: which they are, and that one cause is named for both."""

from typing import Any

import msgspec
from judging import text
from scenes import IDLE, NO_LOGS, WAITING, answer, machine, processes, quote, ras, readings

from qops import rules
from qops.engine import judge, observe
from qops.evidence.clock import HostClock
from qops.evidence.nccl import NcclLog, NcclRank, NcclSetting
from qops.evidence.process import Environment, Process, Processes, Variable
from qops.evidence.text import Gaps
from qops.job import Judged, joined, judged
from qops.render import document
from qops.render import text as text_report
from qops.report import Verdict
from qops.rule import Role

SERVE = "vllm serve /models/m --tensor-parallel-size 2 --nnodes {nodes} --node-rank {rank} --master-addr {address}"


def host(name: str, *values: object) -> Judged:
    evidence: dict[type, Any] = {type(value): value for value in (NO_LOGS, Gaps(), *values)}
    return judged(judge(name, "", evidence, rules.LISTED), evidence)


def engine(state: str, rank: int, *, address: str = "192.0.2.8", nodes: int = 2) -> Processes:
    serve = SERVE.format(nodes=nodes, rank=rank, address=address)
    return Processes(
        (
            Process(70, quote(serve), command=serve, state="S"),
            Process(71, quote(f"VLLM::Worker_TP{rank}"), command=f"VLLM::Worker_TP{rank}", state=state),
            Process(72, quote("VLLM::EngineCore"), command="VLLM::EngineCore", state="R"),
        )
    )


def test_a_stopped_worker_on_one_host_is_the_one_cause_for_both() -> None:
    waiting = (answer(at, ("c1", (7, 6))) for at in (0.0, 5.0, 10.0))
    head = host("spark-1", engine("R", 0), ras(*waiting), readings(WAITING, seconds=11), machine())
    worker = host("spark-2", engine("T", 1), readings(IDLE, seconds=11))
    alone = head.report.root
    assert alone is not None and alone.cause == "rank-missing-from-collective"

    (first, second), (job,) = joined([head, worker], rules.LISTED)
    assert (job.hosts, job.tie) == (("spark-1", "spark-2"), "first node 192.0.2.8")
    assert (job.verdict, job.reason) == (Verdict.FAULT, "rank-stopped on spark-2")
    assert (job.findings[0].host, job.findings[0].finding.subject) == ("spark-2", "rank 1 (pid 71)")
    assert [one.host for one in job.findings if one.finding.role is Role.CAUSE] == ["spark-2"]
    assert (first.verdict, first.root) == (Verdict.UNDETERMINED, None)
    assert first.reason == "what it shows comes from rank-stopped on spark-2"
    assert second.root is not None and second.root.cause == "rank-stopped"


def test_a_cause_that_has_nothing_to_do_with_the_job_stays_one() -> None:
    stub = "nvidia-smi: NVML: Driver/library version mismatch\nFailed to initialize NVML: Driver/library version mismatch\n"
    evidence = observe([text(stub, "nvidia-smi")]) | {Processes: engine("R", 0)}
    other = judged(judge("spark-1", "", evidence, rules.LISTED), evidence)
    assert other.report.root is not None
    (first, second), (job,) = joined([other, host("spark-2", engine("T", 1))], rules.LISTED)
    assert first == other.report
    assert second.root is not None and second.root.cause == "rank-stopped"
    assert {one.host for one in job.findings if one.finding.role is Role.CAUSE} == {"spark-1", "spark-2"}


def test_hosts_with_jobs_of_their_own_are_not_joined() -> None:
    here = [host("a", engine("R", 0, nodes=1)), host("b", engine("T", 0, nodes=1))]
    assert joined(here, rules.LISTED) == (tuple(one.report for one in here), ())
    other = [host("a", engine("R", 0)), host("b", engine("T", 0, address="192.0.2.9"))]
    assert joined(other, rules.LISTED)[1] == ()
    local = [host(name, engine("R", 0, address="127.0.0.1")) for name in "ab"]
    assert joined(local, rules.LISTED)[1] == ()


def test_three_hosts_are_one_job_when_each_is_tied_to_one_of_the_others() -> None:
    def log(*communicators: str) -> NcclLog:
        return NcclLog(ranks=tuple(NcclRank(one, 0, 2, quote("comm"), 1, complete=True) for one in communicators))

    hosts = [host("a", log("0x1a")), host("b", log("0x2b")), host("c", log("0x1a", "0x2b")), host("d", log("0x3c"))]
    _, (job,) = joined(hosts, rules.LISTED)
    assert job.hosts == ("a", "b", "c")
    assert job.verdict is not Verdict.FAULT


def test_settings_that_differ_between_hosts_show_only_together() -> None:
    def log(pid: int, value: str) -> NcclLog:
        return NcclLog(
            ranks=(NcclRank("0x1a", pid - 4101, 2, quote("comm"), pid, complete=True),),
            settings=(NcclSetting("NCCL_ALGO", value, quote(f"NCCL_ALGO set by environment to {value}"), pid),),
        )

    hosts = [host("a", log(4101, "Ring")), host("b", log(4102, "Tree"))]
    assert all(one.report.root is None for one in hosts)
    _, (job,) = joined(hosts, rules.LISTED)
    assert (job.verdict, job.reason) == (Verdict.FAULT, "nccl-rank-config-mismatch")
    assert job.findings[0].host == ""


def test_a_launchers_environment_ties_hosts() -> None:
    def environment(rank: int, address: str) -> Environment:
        pairs = (("RANK", str(rank)), ("MASTER_ADDR", address), ("MASTER_PORT", "29500"))
        return Environment(tuple(Variable(name, value, "pid 9", quote(name)) for name, value in pairs))

    _, (job,) = joined([host(f"n{r}", environment(r, "node-a")) for r in range(2)], rules.LISTED)
    assert job.tie == "first node node-a:29500"
    assert joined([host(f"n{r}", environment(r, "localhost")) for r in range(2)], rules.LISTED)[1] == ()


def broken(name: str, logged: str, *, ahead: float = 0.0, within: float = 0.01) -> Judged:
    """Return a host of job 0x1a whose GPU fell off the bus at `logged` by its own clock, which is `ahead`."""
    line = f"2026-11-30T{logged}Z {name} kernel: NVRM: Xid (PCI:0000:06:00): 79, pid='<unknown>', GPU has fallen off the bus."
    evidence: dict[type, Any] = observe([text(line, "journalctl -k")])
    evidence[NcclLog] = NcclLog(ranks=(NcclRank("0x1a", 0, 2, quote("comm"), 1, complete=True),))
    report = judge(name, "", evidence, rules.ALL)
    assert report.root is not None and report.root.cause == "gpu-fell-off-bus"
    return judged(report, evidence, HostClock(ahead, within, 1_796_000_000.0, 0))


def test_the_first_error_by_synchronised_time_says_where_a_job_broke() -> None:
    # By their own clocks a was first; a's is 30 s behind.
    hosts = [broken("a", "10:00:00.0", ahead=-30.0), broken("b", "10:00:05.0")]
    _, (job,) = joined(hosts, rules.ALL)
    assert job.broke is not None
    assert (job.broke.host, job.broke.next_host, round(job.broke.before, 3)) == ("b", "a", 25.0)
    assert (job.reason, job.findings[0].host) == ("gpu-fell-off-bus on b", "b")
    lines = ["".join(words for words, _ in line) for line in text_report.report([h.report for h in hosts], [job])]
    assert "broke first  b, 25.00 s before a (clocks known to 0.02 s)" in lines
    assert any(line.startswith("clock        30.000 s behind this machine's, give or take 0.010 s") for line in lines)
    assert document.document([], [job]).jobs[0].broke == job.broke


def test_no_host_is_called_first_by_less_than_the_clocks_are_known_to() -> None:
    for a, b in (
        (broken("a", "10:00:00.0", within=3.0), broken("b", "10:00:05.0", within=2.5)),
        (broken("a", "10:00:00.0"), broken("b", "12:30:00.0")),  # of another run
        (broken("a", "10:00:00.0"), msgspec.structs.replace(broken("b", "10:00:05.0"), first=None)),
    ):
        _, (job,) = joined([a, b], rules.ALL)
        assert job.broke is None
        assert job.findings[0].host == "a"
    # The third host's time is known so badly that it may have been the first.
    three = [broken("a", "10:00:00.0"), broken("b", "10:00:05.0"), broken("c", "10:00:06.0", within=9.0)]
    assert joined(three, rules.ALL)[1][0].broke is None


def test_a_host_that_was_not_reached_keeps_its_report() -> None:
    (first, second), jobs = joined([host("a", processes("R", "T")), Judged(host("b").report)], rules.LISTED)
    assert (first.host, second.host, jobs) == ("a", "b", ())


def test_the_report_says_it_first_and_last() -> None:
    hosts, jobs = joined([host("spark-1", engine("R", 0)), host("spark-2", engine("T", 1))], rules.LISTED)
    lines = ["".join(words for words, _ in line) for line in text_report.report(hosts, jobs)]
    assert lines[0].startswith("── one job on spark-1, spark-2")
    assert lines[1].startswith("root cause, on spark-2   NCL002 rank-stopped")
    assert lines[-1] == "job of spark-1, spark-2: fault: rank-stopped on spark-2"
    said = document.document(hosts, jobs)
    assert (said.jobs[0].hosts, said.summary.exit_status) == (("spark-1", "spark-2"), 1)
