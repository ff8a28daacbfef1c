"""HST017: a GPU or a switch reports an error of NVLink."""

from collections.abc import Iterator

from qops.data import sxid, xid
from qops.data.messages import device
from qops.evidence.kernel import KernelLog, Xid
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Fix, Found, Role, RuledOut, rule

_INTENDED = (121, 155, 159)  # corrected, asked for by software, or told by another Xid


@rule(
    "HST017",
    "nvlink-error",
    explains=(
        "xid-event",
        "cuda-error",
        "nccl-error",
        "watchdog-timeout",
        "collective-hang",
        "fabric-state-in-progress",
        "gpu-needs-reset",
    ),
    fix=(
        Fix(
            "stop the jobs, then reset all GPUs that share the links together; where the same link errs again, have "
            "the board, bridge or baseboard checked",
            commands=("nvidia-smi nvlink -e", "nvidia-smi nvlink -s", "journalctl -k -b --no-pager --grep 'Xid|SXid'"),
            risk="a reset ends every job on those GPUs",
        ),
    ),
)
def nvlink_error(logs: Logs, log: KernelLog | None) -> Iterator[Found | RuledOut]:
    """A GPU or a switch reports an error of NVLink."""
    xids = log.xids if log else ()
    ours = [x for x in xids if not x.switch and xid.meaning(x.code).kind == "link" and x.code not in _INTENDED]
    switches = [x for x in xids if x.switch]
    fatal = [x for x in switches if _is_fatal(x)]
    if ours or fatal:
        first = (ours or fatal)[0]
        ends = {x.bus_id for x in (*ours, *fatal)}
        yield Found(
            subject=f"{'NVSwitch' if first.switch else 'GPU'} {first.bus_id}".strip(),
            message=_said(first) + (f"; {len(ends)} devices report such errors" if len(ends) > 1 else ""),
            evidence=tuple(x.quote for x in (*ours[:3], *fatal[:2])),
            confidence=Confidence.CERTAIN,
            # A link has two ends: one side alone may only tell what befell the other.
            role=Role.CAUSE if len(ends) > 1 else Role.SYMPTOM,
        )
    elif hits := logs.find(device.NVLINK_UNCORRECTABLE):
        yield Found(
            subject="NVLink",
            message="CUDA gave up on an NVLink error that could not be corrected; the kernel's log names the link",
            evidence=quotes(hits, 2),
            confidence=Confidence.CERTAIN,
            role=Role.SYMPTOM,
        )
    elif switches:
        yield RuledOut("the switch calls its errors not fatal", tuple(x.quote for x in switches[:2]))


def _is_fatal(one: Xid) -> bool:
    words = one.detail.lower()
    return "fatal" in words and "non-fatal" not in words


def _said(one: Xid) -> str:
    if one.switch:
        return f"SXid {one.code}, {sxid.part(one.code)}, which the driver calls fatal"
    return f"Xid {one.code}: {xid.meaning(one.code).meaning}"
