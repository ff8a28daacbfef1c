"""Whether a service answers: its unit runs, its port is its own, its model is there, and a token comes now."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass

import ask
import release
import unit
from bounded import run
from instance import Instance, got, put
from owner import NOBODY, OURS, UNKNOWN, owner

EVERY = 1.0  # seconds between two looks
QUICK = 5.0  # seconds for what needs no GPU
MOST_ENDS = 2  # ends of the engine while one waits for it: then it will not come by itself


@dataclass(frozen=True)
class Found:
    """How a service is: ready, starting, silent, stopped, failed, held, other, wrong-model or refused."""

    state: str
    detail: str
    unit: unit.Unit

    @property
    def ready(self) -> bool:
        """Whether a token came."""
        return self.state == "ready"

    @property
    def may_come(self) -> bool:
        """Whether waiting can help."""
        return self.state in ("starting", "silent")


def look(instance: Instance, seconds: float) -> Found:
    """Look once; `seconds` for the token."""
    found = unit.show(instance)
    if found.active in ("failed", "inactive", ""):
        return _down(instance, found)
    inside = unit.container(instance)
    who = owner(instance, unit.processes(found, inside), inside)
    if who not in (OURS, NOBODY, UNKNOWN):
        return Found("other", f"port {instance.port} is taken by another program: {who}", found)
    if found.active != "active":
        return Found("starting", _words(found), found)
    served = ask.call(instance, "/v1/models", QUICK)
    if served.status != 200:
        return _not_served(instance, served, found)
    names = ask.models(served)
    if instance.model not in names:
        told = ", ".join(names) or "none"
        return Found("wrong-model", f"port {instance.port} serves {told}, and not {instance.model}", found)
    began = time.monotonic()
    answer = ask.token(instance, seconds)
    took = time.monotonic() - began
    if ask.generated(answer):
        _mark(instance, found)
        return Found("ready", f"{instance.model} on port {instance.port} gave a token in {took:.1f} s", found)
    if answer.status in (0, 500, 502, 503, 504, 429):
        return Found("silent", f"no token in {took:.0f} s ({answer.said})", found)
    return Found("refused", f"it answers without a token: {answer.said}", found)


def waited(instance: Instance, seconds: float) -> Found:
    """Look until the service is ready, cannot become so by itself, or `seconds` are over."""
    end, began = time.monotonic() + seconds, time.time()
    first: int | None = None
    while True:
        left = end - time.monotonic()
        found = look(instance, max(1.0, min(instance.token_seconds, left)) if seconds else instance.token_seconds)
        first = found.unit.restarts if first is None else min(first, found.unit.restarts)
        ends = found.unit.restarts - first
        if found.may_come and ends >= MOST_ENDS:
            why = last(instance, f"--since=@{int(began)}")
            return Found("failed", f"it ended {ends} times while it was waited for; {why}", found.unit)
        if found.ready or not found.may_come or time.monotonic() + EVERY >= end:
            return found
        time.sleep(EVERY)


def served(instance: Instance) -> bool:
    """Whether what runs gave a token since it was started, and was started with the files that are in place."""
    now = unit.show(instance).invocation
    return bool(now) and got(instance.running("ready")) == now and release.begun(instance) == release.digest(instance)


def last(instance: Instance, *which: str) -> str:
    """Return the line of the log that most likely says why the engine ended; `which` leaves out those of runs before.

    `which`: arguments for journalctl.
    """
    # What the unit's own processes wrote: systemd's lines about the unit say no more than that it ended.
    said = run(["journalctl", f"_SYSTEMD_UNIT={instance.unit}", *which, "-n", "400", "-o", "cat", "--no-pager"])
    lines = [line.strip() for line in said.text.splitlines() if line.strip()]
    # The last line is nearly always the generic one; the cause is the last that names an error before it.
    telling = [line for line in lines if any(w in line for w in ("error:", "Error:", "ERROR: ", "qops-serve: "))]
    generic = ("Engine core initialization failed", "EngineDeadError", "exit-code")
    causes = [line for line in telling if not any(w in line for w in generic)]
    line = (causes or lines or [""])[-1]
    if line.endswith(":") and line != lines[-1]:
        line += " " + lines[lines.index(line) + 1]  # what was wrong stands on the next one
    return f"its log says: {line[-300:]}" if line else f"see journalctl -u {instance.unit}"


def _down(instance: Instance, found: unit.Unit) -> Found:
    if held := got(instance.running("held")).strip():
        return Found("held", held, found)
    if found.active == "failed":
        why = last(instance, f"_SYSTEMD_INVOCATION_ID={found.invocation}") if found.invocation else last(instance)
        return Found("failed", f"the unit failed ({found.result}, status {found.status}); {why}", found)
    return Found("stopped", f"{instance.unit} does not run", found)


def _not_served(instance: Instance, served: ask.Answer, found: unit.Unit) -> Found:
    if served.reason == "refused":
        return Found("starting", f"nothing listens on port {instance.port} yet", found)
    if served.status == 503 or not served.status:
        return Found("silent", f"/v1/models: {served.said}", found)
    if served.status in (401, 403):
        return Found("refused", f"/v1/models: {served.said}; the engine wants another key than it is asked with", found)
    return Found("wrong-model", f"/v1/models: {served.said}: this is no engine", found)


def _words(found: unit.Unit) -> str:
    words = {"auto-restart": "it ended, and is started again", "start-pre": "it waits for its devices"}
    return words.get(found.sub, f"the unit is {found.active} ({found.sub})")


def _mark(instance: Instance, found: unit.Unit) -> None:
    """Remember that this start became ready: the watch may restart it, and the machine outlived it."""
    if os.geteuid() != 0 or got(instance.running("ready")) == found.invocation:
        return
    put(instance.running("ready"), found.invocation)
    instance.kept("starting").unlink(missing_ok=True)
    if release.begun(instance) == release.digest(instance):
        with contextlib.suppress(OSError):  # a full disk is no reason not to be ready
            release.keep(instance, good=True)
