"""One look at a service by its timer: a hung engine is recorded, and then restarted.

An engine hangs when it was ready since its start, and then gives no token in time while none of its counters moves,
several looks in a row. `/health` does not tell: vLLM says 200 there while it hangs. An engine that is busy moves its
counters; one that loads is left alone, however long it takes.
"""

from __future__ import annotations

import json
import time
from typing import Any

import ask
import change
import incident
import pending
import ready
from bounded import run
from instance import Instance, got, put

SPAN = 3600.0  # seconds in which `restarts` is counted
BUSY = 5.0  # seconds for the counters
WARN, NOTICE = "<4>", "<5>"


def once(instance: Instance) -> int:
    """Look once. Returns 0: what is wrong with the service is no failure of the watch."""
    if pending.busy(instance):
        return 0
    if told := change.broken_off(instance):
        print(f"{WARN}{told}")
        return 0
    began = time.monotonic()
    kept = _kept(instance)
    found = ready.look(instance, instance.token_seconds)
    was_ready = bool(found.unit.invocation) and got(instance.running("ready")) == found.unit.invocation
    if found.ready:
        if kept["failures"]:
            print(f"{NOTICE}{instance.name}: tokens come again after {kept['failures']} looks without one")
        _keep(instance, invocation=found.unit.invocation)
    elif found.unit.active != "active":
        _keep(instance)
    elif not was_ready:
        _loading(instance, found, kept)
    elif found.state == "refused":
        # It answers, so it does not hang: a restart would not change what it says.
        _tell_once(instance, kept, found)
    else:
        _silent(instance, found, kept, began)
    return 0


def _silent(instance: Instance, found: ready.Found, kept: dict[str, Any], began: float) -> None:
    """Judge a look without a token of a service that was ready before."""
    now = ask.counters(ask.call(instance, "/metrics", BUSY))
    before = kept["counters"] if kept["invocation"] == found.unit.invocation else {}
    if now and before and now != before:
        _keep(instance, invocation=found.unit.invocation, counters=now, told=kept["told"])
        return  # others get their tokens: it is busy
    failures = kept["failures"] + 1 if kept["invocation"] == found.unit.invocation else 1
    print(
        f"{WARN}{instance.name}: {found.detail}, and its counters stand still "
        f"(look {failures} of {instance.failures}, {time.monotonic() - began:.0f} s)"
    )
    if failures < instance.failures:
        _keep(instance, invocation=found.unit.invocation, failures=failures, counters=now or before)
        return
    recent = [at for at in _restarts(instance) if 0 <= time.time() - at < SPAN]
    if len(recent) >= instance.restarts:
        _tell_once(instance, {**kept, "failures": failures}, found, f"restarted {len(recent)} times in an hour already")
        return
    try:
        put(instance.kept("restarts.json"), json.dumps([*recent, time.time()]))
        what = f"what it did is in {incident.take(instance, found, 'the engine hangs: ' + found.detail)}"
    except OSError as error:  # a full disk
        what = f"what it did cannot be kept ({error.strerror})"
    print(f"{WARN}{instance.name}: hangs; {what}, and now it is restarted")
    _keep(instance)
    _restart(instance)


def _loading(instance: Instance, found: ready.Found, kept: dict[str, Any]) -> None:
    """Leave a start that is not ready yet alone; record once one that takes very long."""
    took = time.clock_gettime(time.CLOCK_MONOTONIC) - found.unit.since
    told = str(kept["told"])
    if took > instance.load_seconds and told != found.unit.invocation:
        folder = incident.take(instance, found, f"the engine is not ready after {took:.0f} s: {found.detail}")
        print(f"{WARN}{instance.name}: not ready after {took:.0f} s ({found.detail}); see {folder}")
        told = found.unit.invocation
    _keep(instance, invocation=found.unit.invocation, told=told)


def _tell_once(instance: Instance, kept: dict[str, Any], found: ready.Found, why: str = "") -> None:
    words = f"{found.detail}{'; not restarted: ' + why if why else ''}"
    if kept["told"] != words:
        print(f"{WARN}{instance.name}: {words}")
    _keep(instance, invocation=found.unit.invocation, failures=kept["failures"], counters=kept["counters"], told=words)


def _restart(instance: Instance) -> None:
    """End a hung engine: it ignores SIGTERM. Its unit starts it again by itself."""
    done = (
        run(["systemctl", "kill", "--signal=SIGKILL", "--", instance.unit], 30)
        if instance.runtime == "venv"
        else run([instance.runtime, "kill", instance.container], 30)
    )
    if not done.well:
        print(f"{WARN}{instance.name}: {' '.join(done.text.split())[:200]}; systemctl restart is tried")
        run(["systemctl", "restart", "--no-block", "--", instance.unit], 30)


def _kept(instance: Instance) -> dict[str, Any]:
    empty: dict[str, Any] = {"invocation": "", "failures": 0, "counters": {}, "told": ""}
    try:
        said = json.loads(got(instance.running("watch.json")) or "{}")
        return {key: said[key] if isinstance(said.get(key), type(value)) else value for key, value in empty.items()}
    except (ValueError, AttributeError):
        return empty


def _keep(instance: Instance, *, invocation: str = "", failures: int = 0, counters: Any = None, told: str = "") -> None:
    said = {"invocation": invocation, "failures": failures, "counters": counters or {}, "told": told}
    put(instance.running("watch.json"), json.dumps(said))


def _restarts(instance: Instance) -> list[float]:
    try:
        return [float(at) for at in json.loads(got(instance.kept("restarts.json")) or "[]")]
    except (ValueError, TypeError):
        return []
