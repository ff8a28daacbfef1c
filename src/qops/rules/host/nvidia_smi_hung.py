"""HST903: nvidia-smi does not answer."""

from collections.abc import Iterator

from qops.evidence.text import Gaps, Quote
from qops.rule import Confidence, Fix, Found, Role, rule


@rule(
    "HST903",
    "nvidia-smi-hung",
    role=Role.SYMPTOM,
    fix=(
        Fix(
            "see where it waits before anything is restarted",
            commands=(
                "ps -o pid,stat,wchan:32,args -C nvidia-smi",
                "journalctl -k -b --no-pager --grep 'NVRM|Xid|blocked for'",
            ),
        ),
    ),
)
def nvidia_smi_hung(gaps: Gaps) -> Iterator[Found]:
    """The command nvidia-smi does not answer within its time."""
    late = gaps.timeouts("nvidia-smi")
    if late:
        yield Found(
            subject="nvidia-smi",
            message=f"nvidia-smi gave no answer: {late[0].reason}",
            evidence=tuple(Quote(g.source, 0, g.reason) for g in late[:2]),
            confidence=Confidence.CERTAIN,
        )
