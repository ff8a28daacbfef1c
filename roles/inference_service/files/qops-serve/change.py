"""Changes of what services run with, through a gate: each goes on with the new files only when it serves with them.

The files that are to be in force stand in their places already; `begin` kept those before them. A change waits for a
moment without requests, stops the engine, starts it with the new files, waits for a token, asks the questions of
smoke.py, and goes back to the release before by itself when one of these fails.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import idle
import incident
import pending
import ready
import release
import smoke
import unit
from bounded import run
from instance import Instance, Strange, put, read

_MARGIN = 120.0  # seconds for systemctl stop, over what the unit lets its requests have


@dataclass
class Outcome:
    """What became of a change. `down`: seconds without service."""

    result: str  # "changed", "undone", "failed"
    why: str = ""
    down: float = 0.0
    notes: list[str] = field(default_factory=list)

    def told(self, name: str) -> str:
        """Return the outcome in words."""
        words = {
            "changed": f"{name} runs with what is new",
            "undone": f"{name} runs with what it ran with before; the change was undone: {self.why}",
            "failed": f"{name} does not serve: {self.why}",
        }[self.result]
        away = f" ({self.down:.0f} s without service)" if self.down else ""
        return "\n".join([*(f"{name}: {note}" for note in self.notes), words + away])


def begin(instances: Sequence[Instance], by: str) -> int:
    """Keep what the services run with, before their files are changed."""
    for instance in instances:
        with pending.turn(instance):
            # An image that was pulled for this change keeps its name, if the change before it stopped nothing.
            _mend(instance, images=pending.read(instance).step != pending.BEGUN)
            before = _running(instance)
            pending.begin(instance, before.name, release.begun(instance), by)
        print(f"{instance.name}: release {before.name} is kept")
    return 0


def off(instances: Sequence[Instance]) -> int:
    """Call off changes that have begun and for which nothing was written. One that goes on is left to its end."""
    for instance in instances:
        with pending.turn(instance):
            if pending.read(instance).step == pending.BEGUN:
                _mend(instance, images=False)
    return 0


def go(instances: Sequence[Instance], wait: float) -> int:
    """Bring the files that are in place into force, one service after the other, until one fails."""
    with contextlib.ExitStack() as turns:
        for instance in instances:
            turns.enter_context(pending.turn(instance))
        for number, instance in enumerate(instances):
            under_way = pending.read(instance)
            if under_way.step != pending.BEGUN:
                _mend(instance)
                raise Strange(f"no change of {instance.name} has begun; run the role inference_service again")
            if _ended(instance, _guarded(instance, release.named(instance, under_way.before), under_way.by, wait)):
                for other in instances[number + 1 :]:
                    _mend(other)
                    _say(other, "not tried, and its files are those before again")
                return 1
    return 0


def back(instances: Sequence[Instance], wanted: str, by: str, wait: float) -> int:
    """Go back to an earlier release through the same gate; the first failure is the end.

    "previous" is that of each service that has one, a name that of the service whose release it is.
    """
    chosen = [(instance, to) for instance in instances if (to := release.find(instance, wanted))]
    if not chosen:
        there = ", ".join(one.name for instance in instances for one in release.listed(instance)) or "none"
        raise Strange(f"there is no release {wanted!r} to go back to; there are: {there}")
    return next((status for instance, to in chosen if (status := _back(instance, to, by, wait))), 0)


def _back(instance: Instance, to: release.Release, by: str, wait: float) -> int:
    with pending.turn(instance):
        _mend(instance)
        before = _running(instance)
        if to.digest == before.digest:
            _say(instance, f"release {to.name} is in force already")
            return 0
        pending.begin(instance, before.name, release.begun(instance), by)
        release.place(instance, to)
        _say(instance, f"goes from release {before.name} to {to.name}")
        return _ended(instance, _guarded(read(instance.described), before, by, wait))


def show(instance: Instance) -> int:
    """Print the releases."""
    now = release.begun(instance) or release.digest(instance)
    for one in release.listed(instance):
        force = "in force, " if one.digest == now else ""
        ran = f", image {one.image[:19]}" if one.image else ""
        print(f"{instance.name} {one.name}  {force}{one.outcome}{ran}{', by ' + one.by if one.by else ''}")
    return 0


def broken_off(instance: Instance) -> str:
    """Undo a change that nobody works on any more, and return what was done; for the watch, which waits for nobody."""
    if not pending.abandoned(instance):
        return ""
    with contextlib.suppress(pending.Busy), pending.turn(instance):
        return _mend(instance)
    return ""


def after_boot(instance: Instance) -> bool:
    """Undo a change during which the machine went down, before the service starts; return whether files changed."""
    under_way = pending.read(instance)
    if not under_way.step or under_way.same_boot:
        return False
    with contextlib.suppress(pending.Busy), pending.turn(instance):
        return bool(_mend(instance, starts=True))
    return False


def _running(instance: Instance) -> release.Release:
    """Return the release that runs. It was kept at its first token; what never gave one is kept now."""
    begun = release.begun(instance)
    for one in release.listed(instance):
        if one.digest == begun:
            return one
    return release.keep(instance, good=ready.served(instance))


def _mend(instance: Instance, *, starts: bool = False, images: bool = True) -> str:
    """Undo a change that was broken off; return what was done, "" for nothing. The caller has the turn.

    `starts`: the service is being started now, and is not started once more. `images`: a tag that moved goes back too.
    """
    under_way = pending.read(instance)
    if not under_way.step:
        return ""
    before = release.named(instance, under_way.before)
    stopped = under_way.step != pending.BEGUN
    if stopped and release.digest(instance) != before.digest:
        release.note(release.keep(instance, by=under_way.by), good=False, failed="its change was broken off")
    changed = _put_back(instance, before, images=images)
    # Whatever runs was started with files that nobody judged, or nothing runs.
    again = not starts and (stopped or release.begun(instance) not in ("", under_way.running, before.digest))
    if again:
        run(["systemctl", "restart", "--no-block", "--", instance.unit], 30)
    pending.clear(instance)
    if not changed and not again:
        return ""
    told = f"a change of {instance.name} was broken off; its files are those of release {before.name} again"
    return told + (", and it is started with them" if again else "")


def _put_back(instance: Instance, before: release.Release, *, images: bool = True) -> list[str]:
    changed = [*release.place(instance, before, images=images), *pending.secret_back(instance)]
    if changed:
        _reload(instance)
    return changed


def _guarded(instance: Instance, before: release.Release, by: str, wait: float) -> Outcome:
    """Do the change; where not even that can be done (a full disk), undo it all the same."""
    try:
        return _through(instance, before, by, wait)
    except (Strange, OSError) as error:
        _mend(instance)
        return Outcome("undone", str(error))


def _through(instance: Instance, before: release.Release, by: str, wait: float) -> Outcome:
    new = release.keep(instance, by=by)
    if why := lacking(instance):
        _failed(new, before, why)
        _put_back(instance, before)
        return Outcome("undone", why)
    # What runs may listen elsewhere, and under another name; the questions are the new ones.
    old = replace(before.described(instance), smoke=instance.smoke)
    answers: list[smoke.Reply] = []
    if unit.show(old).active == "active":
        _say(instance, "asks what it runs with now")
        answers = smoke.asked(old)
    notes = idle.waited(old, lambda words: _say(instance, words))
    pending.step(instance, pending.STOPPED)
    began = time.monotonic()
    why = _restarted(instance, wait)
    if not why:
        down = time.monotonic() - began
        _say(instance, f"gave a token after {down:.0f} s; asks again")
        why, told = smoke.judged(instance, answers, smoke.asked(instance))
        if not why:
            release.note(new, good=True)
            return Outcome("changed", down=down, notes=[*notes, *told])
    _say(instance, f"goes back to release {before.name}: {why}")
    notes.append(_recorded(instance, why))
    _failed(new, before, why)
    pending.step(instance, pending.UNDOING)
    _put_back(instance, before)
    if again := _restarted(before.described(instance), wait):
        return Outcome("failed", f"{why}; and release {before.name} did not come back: {again}", notes=notes)
    return Outcome("undone", why, time.monotonic() - began, notes)


def lacking(instance: Instance) -> str:
    """Return what the host lacks for the new files; "" when it has all. Nothing has been stopped yet."""
    for path in instance.needs:
        if not Path(path).exists():
            return f"{path} is not on this host"
    if instance.image and not release.image_id(instance):
        return f"the image {instance.image} is not on this host: ansible-playbook playbooks/serve.yml pulls it first"
    return ""


def _failed(new: release.Release, before: release.Release, why: str) -> None:
    # Where only a secret changed, both are the same release, which was good before.
    if new.digest != before.digest:
        release.note(new, good=False, failed=why)


def _recorded(instance: Instance, why: str) -> str:
    try:
        return f"what it did is in {incident.take(instance, ready.look(instance, 1.0), f'a change failed: {why}')}"
    except OSError as error:
        return f"what it did cannot be kept ({error.strerror}); see journalctl -u {instance.unit}"


def _restarted(instance: Instance, wait: float) -> str:
    """Start the service with the files that are in place; return why no token came, "" when one did."""
    _say(instance, "stops")
    run(["systemctl", "stop", "--", instance.unit], instance.idle_seconds + _MARGIN)
    _reload(instance)
    run(["systemctl", "reset-failed", "--", instance.unit])
    started = run(["systemctl", "start", "--no-block", "--", instance.unit], 30)
    if not started.well:
        return f"systemctl start: {' '.join(started.text.split())[:300]}"
    _say(instance, "starts")
    found = ready.waited(instance, wait)
    return "" if found.ready else found.detail


def _reload(instance: Instance) -> None:
    said = run(["systemctl", "show", "--property=NeedDaemonReload", "--value", "--", instance.unit])
    if said.text.strip() != "no":
        run(["systemctl", "daemon-reload"], 60)


def _ended(instance: Instance, outcome: Outcome) -> int:
    pending.clear(instance)
    print(outcome.told(instance.name), flush=True)
    with contextlib.suppress(OSError):
        put(instance.kept("last-change.json"), json.dumps({**asdict(outcome), "at": time.time()}) + "\n")
        release.forget(instance)
    return 0 if outcome.result == "changed" else 1


def _say(instance: Instance, words: str) -> None:
    print(f"{instance.name}: {words}", flush=True)
