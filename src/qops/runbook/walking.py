"""Walking a page: every step that reads is run, every step that changes something is asked about first."""

import os
import re
import shlex
import sys
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from msgspec import Struct

from qops.errors import QopsError
from qops.runbook import filling
from qops.runbook.incident import Done, Incident
from qops.runbook.page import Page, Step
from qops.transports.base import Completed, Transport

READING = 180.0  # seconds for a step that reads: `qops diagnose` takes 13, and a measurement a minute
CHANGING = 3600.0  # seconds for a step that changes something: a role that builds a driver takes half of it
# In the environment of a step's commands, so that one whose walk was killed (-9) is found again. GNU grep: a
# variable's name and value are one record that ends with a zero byte (proc(5)).
_MARK = "QOPS_STEP"
_STILL = f'grep -lszFxe "{_MARK}=$1" /proc/[0-9]*/environ'
_ASKED = 1.0  # seconds between two questions whether it has ended
# Where one is root, sudo may be missing, as in a container.
_SUDO = 'command -v sudo >/dev/null || sudo() { "$@"; }\n'
# On another host it is asked by SSH, as whoever the inventory names.
_LOOK = re.compile(r"(?:sudo )?(qops (?:diagnose|collect))\b")

Ask = Callable[[int, str], str]
"""Called with a step's number and its commands; returns "" for yes, or why it is not to be run."""
Say = Callable[[int, Step, str, Done | None], None]
"""Called before a step (without Done), after it, and (with a Done that runs) while an earlier run of it is awaited."""


class Where(Struct, frozen=True):
    """The machine that is looked at, and this one, from which it is managed. `inventory` is "" when they are one.

    `renew` connects anew to the first, which a playbook may have rebooted.
    """

    host: Transport
    here: Transport
    inventory: str = ""
    renew: Callable[[], None] = lambda: None


class InterruptedWalkError(Exception):
    """Ctrl-C: what was run so far is saved."""


def walk(page: Page, where: Where, incident: Incident, ask: Ask, say: Say) -> tuple[Done, ...]:
    """Run the steps of `page` that `incident` does not have yet; return how all of them went the last time.

    What reads is run again after a change, and what was left out is asked about again.

    Raises InterruptedWalkError at Ctrl-C, with the step noted as interrupted, and QopsError when a step of a walk that
    was killed does not end.
    """
    changed = False
    for number, step in enumerate(page.steps, 1):
        before = incident.last(number)
        if before is not None and before.state == "done" and (step.changes or not changed):
            continue
        script = commands(step, where, incident.values)
        machine, key = where.here if step.here else where.host, incident.key(number)
        if before is not None and before.state == "running":
            _await(machine, key, partial(say, number, step, script, before))
        if why := _refusal(step, script) or (ask(number, script) if step.changes else ""):
            incident.leave_out(number, step.heading, script, changes=step.changes, why=why)
        else:
            say(number, step, script, None)
            incident.begin(number, step.heading, script, changes=step.changes, here=step.here)
            changed = changed or step.changes
            _run(machine, key, step, script, where, incident)
        say(number, step, script, incident.steps[-1])
    return tuple(done for number in range(1, len(page.steps) + 1) if (done := incident.last(number)))


def _refusal(step: Step, script: str) -> str:
    if step.by_hand:
        return "the page says that it is done by hand"
    if lacking := filling.missing(script):
        return f"it needs {', '.join(lacking)} (--set {lacking[0].lower()}=…)"
    return ""


def _await(machine: Transport, key: str, told: Callable[[], None]) -> None:
    """Wait for the end of a step whose walk was killed, and which may run on; `told` is called once if it does."""
    begun = time.monotonic()
    waiting = False
    try:
        while machine.run(("sh", "-c", _STILL, "sh", key), timeout=READING).stdout.strip():
            if not waiting:
                told()
            waiting = True
            if time.monotonic() > begun + CHANGING:
                raise QopsError(
                    f"a step of the walk that was killed still runs on {machine.name}",
                    f"find it with: grep -lszFxe '{_MARK}={key}' /proc/[0-9]*/environ",
                )
            time.sleep(_ASKED)
    except KeyboardInterrupt:
        raise InterruptedWalkError from None


def commands(step: Step, where: Where, values: Mapping[str, str]) -> str:
    """Return the commands of `step` as they are run: with values, and for the host of an inventory."""
    script = filling.fill("\n".join((*step.given, step.script)), values)
    if step.here and where.inventory and not re.search(r" (?:-i|--from) ", step.script):
        file, name = shlex.quote(where.inventory), shlex.quote(where.host.name)
        script = _LOOK.sub(rf"\1 -i {file} -l {name}", script).replace(
            "ansible-playbook ", f"ansible-playbook -i {file} "
        )
    return script


def _run(transport: Transport, key: str, step: Step, script: str, where: Where, incident: Incident) -> None:
    """Run one step in a thread, so that Ctrl-C reaches this one, and note how it ended."""
    told: list[Completed | BaseException] = []
    if step.here:
        own = Path(sys.executable).parent  # qops and ansible-playbook stand beside this Python
        script = f"cd {shlex.quote(str(Path.cwd()))}\nPATH={shlex.quote(str(own))}:$PATH\n{script}"
    argv = ("env", f"{_MARK}={key}", "bash", "-c", script if where.inventory and step.here else _SUDO + script)
    limit = CHANGING if step.changes else READING

    def work() -> None:
        try:
            told.append(transport.run(argv, timeout=limit))
        except BaseException as error:  # handed to the caller's thread, which raises it
            told.append(error)

    worker = threading.Thread(target=work, daemon=True, name=f"qops-runbook-{os.getpid()}")
    worker.start()
    try:
        while worker.is_alive():
            worker.join(0.2)
    except KeyboardInterrupt:
        transport.stop()
        incident.end(None)
        raise InterruptedWalkError from None
    if isinstance(told[0], BaseException):
        incident.end(None)
        raise told[0]
    incident.end(told[0])
    if step.here and step.changes:
        where.renew()
