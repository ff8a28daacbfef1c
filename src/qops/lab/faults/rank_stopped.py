"""A rank that is stopped: the engine hangs and says that it is well; a job over several hosts hangs on all of them."""

from qops.lab.fault import Fault

_RANK1 = "pgrep -f '^VLLM::Worker_TP1'"
_REQUEST = "qops-lab-request.service"

_RANK = "pgrep -f '^VLLM::Worker_TP'"
_SHARED = Fault(
    cause="rank-stopped",
    about="this host's rank of the job over all hosts of the scenario is stopped (SIGSTOP); the others wait for it",
    plant=(f"kill -STOP $({_RANK})",),
    mend=(f"pid=$({_RANK}) && kill -CONT $pid; true",),
    check=f"grep -q '^State:.*T (stopped)' /proc/$({_RANK})/status",
)
FAULT = Fault(
    cause="rank-stopped",
    about="a rank is stopped (SIGSTOP): the engine's while a request runs, or one of a job over several hosts",
    plant=(
        f"{_RANK1} >/dev/null || {{ qops-lab-engine start 2 && qops-lab-engine ready; }}",
        # Long enough to be running still when it is looked at, and no longer than the engine's context.
        f"systemctl is-active --quiet {_REQUEST} || {{ systemctl reset-failed {_REQUEST} 2>/dev/null; "
        f"systemd-run --quiet --unit={_REQUEST} qops-lab-engine ask 3900 86400 && sleep 3; }}",
        f"kill -STOP $({_RANK1})",
    ),
    mend=(
        f"systemctl kill -s KILL {_REQUEST} 2>/dev/null; systemctl reset-failed {_REQUEST} 2>/dev/null; true",
        f"pid=$({_RANK1}) && kill -CONT $pid; true",
        "qops-lab-engine ready 60 || { qops-lab-engine start 2 && qops-lab-engine ready; }",
    ),
    check=f"grep -q '^State:.*T (stopped)' /proc/$({_RANK1})/status",
    engine=True,
    shared=_SHARED,
)
