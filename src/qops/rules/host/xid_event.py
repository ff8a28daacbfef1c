"""HST901: the driver logged an Xid; a cause says why, or nothing that was seen does."""

from collections.abc import Iterator

from qops.data import sxid, xid
from qops.data.messages import kernel
from qops.evidence.gpu import Gpus
from qops.evidence.kernel import KernelLog
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
def xid_event(logs: Logs, log: KernelLog | None, gpus: Gpus | None) -> Iterator[Found]:
    """The driver logged an Xid; a cause says why, or nothing that was seen does."""
    nothing = {h.quote for h in logs.find(kernel.RECOVERY_NONE)}
    hits = tuple(h for h in logs.find(kernel.XID_ANY) if h.quote not in nothing)
    if hits:
        codes = sorted({int(h.groups["code"]) for h in hits})
        left_out = sorted({g.name for g in (gpus.gpus if gpus else ()) if g.name and not xid.covers(g.name)})
        table = f"; the vendor's table is of data-centre boards and leaves out {left_out[0]}" if left_out else ""
        yield Found(
            subject="GPU",
            message="; ".join(_said(code) for code in codes[:4]) + table,
            evidence=quotes(hits, 4),
            confidence=Confidence.CERTAIN,
        )
    switches = [x for x in (log.xids if log else ()) if x.switch]
    if switches:
        named = {x.code: sxid.part(x.code) for x in switches}
        yield Found(
            subject=f"NVSwitch {switches[0].bus_id}".strip(),
            message="; ".join(f"SXid {code}: {part}" for code, part in sorted(named.items())[:4]),
            evidence=tuple(x.quote for x in switches[:4]),
            confidence=Confidence.CERTAIN,
        )


def _said(code: int) -> str:
    known = xid.meaning(code)
    return f"Xid {code}: {known.meaning} (the vendor says: {known.action})"
