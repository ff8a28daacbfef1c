"""The table of endings in docs/measurements.md: how long until a service answers again, or says clearly why not.

A live test that ends a service records what came of it. With QOPS_RECORD_ENDINGS=1 that goes into the table at once;
without, it is thrown away. Rows of tests that did not run stay as they are.
"""

import os
import re
import time
from pathlib import Path

from serving import Serving

PAGE = Path(__file__).parent.parent.parent / "docs/measurements.md"
BEGIN, END = "<!-- endings: begin (tests/ansible/endings.py) -->", "<!-- endings: end -->"
HEAD = ("ending", "service", "seconds", "what comes of it")
LONGEST = 200  # characters of an engine's words


def record(ending: str, service: str, seconds: float, comes: str) -> None:
    """Record one ending: `comes` is "answers again" or the words of the failure."""
    if os.environ.get("QOPS_RECORD_ENDINGS") == "1":
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(merged(page, row(ending, service, seconds, comes)), encoding="utf-8")


def row(ending: str, service: str, seconds: float, comes: str) -> tuple[str, ...]:
    """Return a row of the table; nothing in it ends a cell."""
    return (ending, service, f"{seconds:.0f}", re.sub(r"[|`\s]+", " ", comes).strip()[:LONGEST])


def merged(page: str, new: tuple[str, ...]) -> str:
    """Return the page with a row in its table, in the place of an older one of the same ending and service."""
    before, _, rest = page.partition(BEGIN)
    table, _, after = rest.partition(END)
    older = [tuple(cell.strip() for cell in line.strip("| ").split(" | ")) for line in table.strip().splitlines()[2:]]
    rows = {one[:2]: one for one in (*older, new)}
    lines = [f"| {' | '.join(one)} |" for one in (HEAD, ("---",) * len(HEAD), *rows.values())]
    return "\n".join([before + BEGIN, *lines, END + after])


def killed(serving: Serving, service: str) -> None:
    """Kill the engine."""
    before, began = serving.state()["InvocationID"], time.monotonic()
    serving.on("kill -9 $(pgrep -f [V]LLM::EngineCore)")
    record("engine killed", service, serving.back(before, began), "answers again")


def stopped_and_started(serving: Serving, service: str) -> None:
    """Stop the service while it has a request, which ends whole, and start it."""
    request = serving.long_request(tokens=500)
    began = time.monotonic()
    serving.on("systemctl stop qops-serve-tiny")
    seconds = time.monotonic() - began
    assert request() == 500
    record("stopped with a request in flight", service, seconds, "the request ended whole")
    began = time.monotonic()
    serving.on("systemctl start qops-serve-tiny")
    assert serving.ready()["state"] == "ready"
    record("stopped and started", service, time.monotonic() - began, "answers again")


def rebooted(serving: Serving, service: str) -> None:
    """Reboot the host."""
    began = time.monotonic()
    serving.reboot()
    assert serving.ready()["state"] == "ready"
    record("host rebooted", service, time.monotonic() - began, "answers again (a practice host boots in seconds)")
