"""HST007: systemd units wait for each other, so systemd drops one of them."""

import re
from collections.abc import Iterator

from qops.data.messages import system
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Fix, Found, Role, Severity, rule

OURS = re.compile(r"docker|containerd|podman|crio|nvidia|cdi|vllm|sglang|ray|llm|kubelet|qops|gpu|fabric", re.I)


@rule(
    "HST007",
    "systemd-ordering-cycle",
    explains=("no-visible-gpu", "systemd-boot-order-race"),
    fix=(
        Fix(
            "break the cycle: take the After= that closes it out with a drop-in, or update the package that ships it",
            commands=("systemd-analyze verify docker.service", "systemctl cat docker.service"),
        ),
    ),
)
def systemd_ordering_cycle(logs: Logs) -> Iterator[Found]:
    """Systemd units wait for each other, so systemd drops one of them."""
    hits = logs.find(system.ORDERING_CYCLE)
    if not hits:
        return
    members = logs.find(system.CYCLE_MEMBER)
    units = dict.fromkeys(u.rstrip(".") for h in (*hits, *members) for u in h.groups.values())
    dropped = next((h.groups[n] for h in hits for n in ("job", "deleted") if n in h.groups), "")
    ours = [u for u in units if OURS.search(u)]
    yield Found(
        subject=dropped or next(iter(ours or units), "systemd"),
        message=f"units wait for each other: {', '.join(units)}" + (f"; systemd dropped {dropped}" if dropped else ""),
        evidence=quotes((*hits, *members), 4),
        confidence=Confidence.CERTAIN,
        role=None if ours else Role.CONTRIBUTING,
        severity=None if ours else Severity.WARNING,
    )
