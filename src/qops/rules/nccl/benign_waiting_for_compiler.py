"""NCL813: ranks wait for one that compiles kernels. That is work, not a hang."""

from collections.abc import Iterator

from qops.derive.ranks import compiler, gpu_of, member_of, ras_lags
from qops.evidence.gpu import Gpus
from qops.evidence.nccl import NcclLog, Ras
from qops.evidence.process import Environment, Processes
from qops.rule import Confidence, Found, Role, RuledOut, Severity, rule


@rule("NCL813", "benign-waiting-for-compiler", role=Role.INFO, severity=Severity.INFO)
def benign_waiting_for_compiler(
    processes: Processes, ras: Ras | None, nccl: NcclLog | None, environment: Environment | None, gpus: Gpus | None
) -> Iterator[Found | RuledOut]:
    """A rank compiles kernels while the others wait for it."""
    behind = {m.pid: m for lag in ras_lags(ras) for m in lag.behind}
    for pid in processes.pids:
        found = compiler(pid, processes)
        if not found or (pid not in behind and gpu_of(pid, gpus) is None):
            continue
        sample, name = found
        member = behind.get(pid) or member_of(pid, nccl, environment, gpus, ras)
        yield Found(
            subject=str(member),
            message=f"compiles ({name} runs below it) and the other ranks wait for it: not a hang while it does",
            evidence=(sample.quote, *(q for lag in ras_lags(ras)[:1] for q in lag.quotes[:2])),
            confidence=Confidence.LIKELY,
        )
