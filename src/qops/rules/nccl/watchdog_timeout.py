"""NCL902: the watchdog of PyTorch gave up a collective. It says that one hung, never why."""

from collections.abc import Iterator

from qops.data.messages import torch
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Found, Role, RuledOut, rule


@rule("NCL902", "watchdog-timeout", role=Role.SYMPTOM)
def watchdog_timeout(logs: Logs) -> Iterator[Found | RuledOut]:
    """The watchdog of PyTorch gave up a collective."""
    hits = logs.find(torch.WATCHDOG_TIMEOUT)
    if hits:
        yield Found("job", "a collective ran into its time-out", quotes(hits, 2), Confidence.CERTAIN)
