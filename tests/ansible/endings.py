"""The table of endings in docs/measurements.md: how long until a service answers again, or says clearly why not.

A live test that ends a service records what came of it. With QOPS_RECORD_ENDINGS=1 that goes into the table at once;
without, it is thrown away.
"""

import os
import time

from measured import Table
from serving import Serving

TABLE = Table("endings", "tests/ansible/endings.py", ("ending", "service", "seconds", "what comes of it"), 2)


def record(ending: str, service: str, seconds: float, comes: str) -> None:
    """Record one ending: `comes` is "answers again" or the words of the failure."""
    if os.environ.get("QOPS_RECORD_ENDINGS") == "1":
        TABLE.record((ending, service, f"{seconds:.0f}", comes.replace("`", "")))


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
