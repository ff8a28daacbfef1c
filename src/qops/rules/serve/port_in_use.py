"""SRV009: the port is taken."""

import re
from collections.abc import Iterator

from qops.data.messages import engine
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Fix, Found, RuledOut, rule

# After an address, or by its name: a colon alone stands before the seconds of a time as well.
_PORT = re.compile(
    r"(?:',\s*|\bports?:? |TCP |(?:\d{1,3}(?:\.\d{1,3}){3}|[\])*:]|\blocalhost|\btcp \S{0,80}):)"
    r"(\d{2,5})\b(?=[)':,/\s]|$)",
    re.IGNORECASE,
)


@rule(
    "SRV009",
    "port-in-use",
    explains=("engine-core-failed", "job-failed"),
    fix=(
        Fix("see who listens there and end it, or serve on another port", commands=("ss -ltnp",)),
        Fix("serve on another port: `--port`", kind="workaround"),
    ),
)
def port_in_use(logs: Logs) -> Iterator[Found | RuledOut]:
    """The port is taken."""
    # NCCL's RAS and the rendezvous of a second job on the host print the same words and go on.
    hits = [h for h in logs.find(engine.PORT_IN_USE) if "NCCL" not in h.quote.text and "ras/" not in h.quote.text]
    if hits:
        port = next((found for hit in hits if (found := _PORT.search(hit.quote.text))), None)
        text = f"port {port.group(1)} is taken by another process" if port else "the port is taken by another process"
        yield Found("engine", text, quotes(hits, 2), Confidence.CERTAIN)
