"""HST901: the driver logged an Xid; a cause says why, or nothing that was seen does."""

from collections.abc import Iterator

from qops.data import xid
from qops.data.messages import kernel
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Fix, Found, Role, rule


@rule(
    "HST901",
    "xid-event",
    role=Role.SYMPTOM,
    fix=(
        Fix(
            "read the first Xid, not the last, and the lines around it",
            commands=("journalctl -k -b --no-pager --grep 'NVRM|Xid'",),
        ),
    ),
)
def xid_event(logs: Logs) -> Iterator[Found]:
    """The driver logged an Xid; a cause says why, or nothing that was seen does."""
    nothing = {h.quote for h in logs.find(kernel.RECOVERY_NONE)}
    hits = tuple(h for h in logs.find(kernel.XID_ANY) if h.quote not in nothing)
    if not hits:
        return
    codes = sorted({int(h.groups["code"]) for h in hits})
    yield Found(
        subject="GPU",
        message="; ".join(f"Xid {code}: {xid.meaning(code).meaning}" for code in codes[:4]),
        evidence=quotes(hits, 4),
        confidence=Confidence.CERTAIN,
    )
