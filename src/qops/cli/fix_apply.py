"""Doing a fix: the plan, the question, the role, the judgement, and the way back."""

import subprocess
import sys
import time
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

import click
from msgspec import Struct

from qops.cli import each, fix_change
from qops.cli.fix_change import Change
from qops.engine import judge
from qops.errors import EvidenceError, QopsError, TransportError, UsageError
from qops.report import HostReport
from qops.rule import Fix, Role, Rule

PLAYBOOKS = {"inference_service": "playbooks/serve.yml", "reboot": "playbooks/reboot.yml"}
"""Where another playbook than site.yml does what a tag stands for: site.yml restarts and reboots nothing."""
BACK = {
    "inference_service": ("--tags", "inference_service", "-e", "inference_service_release=previous"),
    "nvidia_driver": ("--tags", "nvidia_driver"),
}
"""What playbooks/rollback.yml takes to undo what the inventory alone does not."""
LOOKS = 3  # after a change: a unit may still be at work at the first
SECONDS = 40.0  # for a look: what a busy host answers late would count as not seen
PAUSE = 10.0  # seconds between two looks


class Kind(StrEnum):
    """What came of it."""

    MENDED = "mended"
    TAKEN_BACK = "taken back"
    OPEN = "open"


class Outcome(Struct, frozen=True):
    """What came of it, for a person."""

    kind: Kind
    text: str


class Run(Struct, frozen=True):
    """The command of Ansible that a fix stands for."""

    host: str
    inventory: str
    fix: Fix

    def shown(self, *, check: bool) -> list[str]:
        """Return the command, as a person would type it."""
        playbook = PLAYBOOKS.get(self.fix.tag, "site.yml")
        words = ["ansible-playbook", playbook, "-i", self.inventory, "--tags", self.fix.tag, "--limit", self.host]
        return [*words, "--check", "--diff"] if check else words

    def back(self) -> list[str]:
        """Return the command that goes back to the release or driver before, or [] when there is none."""
        words = BACK.get(self.fix.tag)
        if words is None:
            return []
        return ["ansible-playbook", "playbooks/rollback.yml", "-i", self.inventory, *words, "--limit", self.host]


def apply(rule: Rule, run: Run, change: Change, *, ask: bool, quiet: bool) -> Outcome:
    """Do the fix; what it did is taken back when it does not mend the finding, or brings another.

    Raises UsageError when the finding is not there or nobody says yes, EvidenceError when that cannot be told,
    TransportError when the host does not answer.
    """
    if not Path("site.yml").is_file():
        raise UsageError("there is no site.yml here", "run it in the folder of qops's playbooks")
    left = fix_change.left_over(run.host)
    if left is not None and left.cause != rule.cause:
        raise UsageError(
            f"a fix of {left.cause} on {run.host} was cut short",
            f"end that one first: qops fix {run.host} {left.cause} -i {run.inventory} --apply",
        )
    if left is not None:
        change = Change(change.path, left.change.before, change.after, change.variable, change.value)
    before = _look(run, quiet=quiet)
    for _ in range(LOOKS - 1):  # a busy host answers some questions too late
        if rule.cause in _causes(before) or left is not None:
            break
        before = _look(run, quiet=quiet)
    if left is None and (lacks := _lacks(rule, before)):
        raise EvidenceError(f"whether {run.host} has {rule.cause} cannot be told without {lacks}", "try again")
    if left is None and rule.cause not in _causes(before):
        raise UsageError(f"{rule.cause} is not found on {run.host}", "`qops diagnose` says what is")
    changes = change.before != change.after
    fix_change.note(run.host, rule.cause, "inventory", change)
    if changes:
        fix_change.write(change)
    if _play(run.shown(check=True)) != 0:
        _undo_inventory(run, change)
        raise UsageError("the plan cannot be made", "nothing was changed; what Ansible says stands above")
    if ask and not (sys.stdin.isatty() and click.confirm(f"do this on {run.host}?", default=False, err=True)):
        _undo_inventory(run, change)
        raise UsageError("nobody said yes, so nothing was changed", "--yes does not ask")
    fix_change.note(run.host, rule.cause, "role", change)
    if _play(run.shown(check=False)) != 0:
        return _take_back(rule, run, change, "the role failed")
    fix_change.note(run.host, rule.cause, "judging", change)
    if run.fix.needs_reboot:
        fix_change.forget(run.host)
        return Outcome(Kind.OPEN, "the role has run; it takes effect with a reboot (playbooks/reboot.yml)")
    judged, wrong = _judged(rule, before, run, quiet=quiet)
    if not judged:
        return Outcome(Kind.OPEN, f"the role has run, and {wrong}; --apply judges it again")
    if wrong:
        return _take_back(rule, run, change, wrong)
    fix_change.forget(run.host)
    return Outcome(Kind.MENDED, "mended, and nothing new was found")


def _judged(rule: Rule, before: HostReport, run: Run, *, quiet: bool) -> tuple[bool, str]:
    """Return whether the host could be judged, and what speaks against the change ("": nothing), after some looks."""
    judged, wrong = False, ""
    for look in range(LOOKS):
        if look:
            time.sleep(PAUSE)
        try:
            after = _look(run, quiet=quiet)
        except TransportError as error:
            judged, wrong = False, error.message
            continue
        new = _causes(after) - _causes(before)
        if lacks := _lacks(rule, after):
            judged, wrong = False, f"it cannot be judged without {lacks}"
        elif rule.cause in _causes(after):
            judged, wrong = True, "it is still found"
        elif new:
            judged, wrong = True, f"it brought {', '.join(sorted(new))}"
        else:
            return True, ""
    return judged, wrong


def _lacks(rule: Rule, report: HostReport) -> str:
    """Return the evidence without which the rule could not be judged; "" when it could."""
    return ", ".join(dict(report.coverage.unknown).get(rule.code, ()))


def _take_back(rule: Rule, run: Run, change: Change, why: str) -> Outcome:
    """Put inventory and host back; what the role set by an unchanged inventory stays, and is said."""
    fix_change.note(run.host, rule.cause, "undoing", change)
    changes = change.before != change.after
    if changes:
        fix_change.write(change, back=True)
    command = run.back() or (run.shown(check=False) if changes else [])
    if not command:
        fix_change.forget(run.host)
        return Outcome(Kind.TAKEN_BACK, f"{why}; the inventory was not changed, so there is nothing to take back")
    if _play(command) != 0:
        raise QopsError(
            f"{why}, and taking it back failed", f"the inventory is as it was; run again: {' '.join(command)}"
        )
    fix_change.forget(run.host)
    return Outcome(Kind.TAKEN_BACK, f"{why}; taken back")


def _undo_inventory(run: Run, change: Change) -> None:
    if change.before != change.after:
        fix_change.write(change, back=True)
    fix_change.forget(run.host)


def _play(words: list[str]) -> int:
    """Run Ansible with its output on standard error; return its exit status."""
    program = Path(sys.executable).with_name("ansible-playbook")  # beside this Python, also when that is on no path
    click.echo(" ".join(words), err=True)
    try:
        return subprocess.run(
            [str(program) if program.is_file() else "ansible-playbook", *words[1:]],
            stdout=sys.stderr,
            stdin=subprocess.DEVNULL,
            close_fds=False,  # the lock goes along: a role that outlives this call still holds the host
            check=False,
        ).returncode
    except FileNotFoundError:
        raise UsageError("there is no ansible-playbook", "pip install 'qops[provision]'") from None


def _look(run: Run, *, quiet: bool) -> HostReport:
    """Judge the host by all rules."""
    from qops import probes
    from qops.rules import LISTED

    def report(seen: Mapping[type, Any], variables: Mapping[str, Any]) -> HostReport:
        return judge(run.host, "", seen, LISTED)

    known = [probe for probe in probes.ALL if probe.families]
    made, errors, interrupted = each.make(known, report, run.inventory, run.host, also=(), quiet=quiet, seconds=SECONDS)
    if interrupted:
        raise KeyboardInterrupt
    if len(made) + len(errors) != 1:
        raise UsageError(f"{run.host!r} names {len(made) + len(errors)} hosts", "a fix is for one host at a time")
    if errors:
        raise TransportError(*next(iter(errors.values())).split("; try: ", 1))
    return next(iter(made.values()))


def _causes(report: HostReport) -> set[str]:
    return {finding.cause for finding in report.findings if finding.role is not Role.INFO}
