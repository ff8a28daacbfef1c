"""A moment in which a service has no requests, by the engine's own count."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable

import ask
from instance import Instance

EVERY = 0.5  # seconds between two looks
_COUNTED = (
    "vllm:num_requests_running{",
    "vllm:num_requests_waiting{",
    "sglang:num_running_reqs{",
    "sglang:num_queue_reqs{",
)


def waited(instance: Instance, say: Callable[[str], None]) -> list[str]:
    """Wait for such a moment, for `idle_seconds` at most; return a note when none came."""
    end = time.monotonic() + instance.idle_seconds
    told = 0
    while (count := requests(instance)) and time.monotonic() < end:
        if count != told:
            say(f"waits until {count} requests have ended, {instance.idle_seconds:.0f} s at most")
        told = count
        time.sleep(EVERY)
    if not count:
        return []
    return [f"{count} requests ran after {instance.idle_seconds:.0f} s; the engine's own drain had them next"]


def requests(instance: Instance) -> int:
    """Return how many requests the engine counts as running or waiting; 0 when it does not say."""
    answer = ask.call(instance, "/metrics", 5)
    total = 0.0
    for line in answer.body.decode(errors="replace").splitlines() if answer.status == 200 else ():
        if line.startswith(_COUNTED):
            with contextlib.suppress(ValueError):
                total += float(line.rpartition(" ")[2])
    return int(total)
