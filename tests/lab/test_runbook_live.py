"""The commands of the runbooks that read, run on a sound practice host; test_fault_to_fix_live.py runs what changes.

A few pages are run always; all of them with QOPS_EVERY_BLOCK=1, which takes a quarter of an hour. With
QOPS_RECORD_BLOCKS=1 as well, docs/measurements.md is told how many were run.
"""

import os
import re
import shlex
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from measured import Table
from practice_lab import Qops, desk, practice, why_not

from qops import runbook
from qops.inventory import hosts
from qops.lab import faults
from qops.rules import ALL
from qops.runbook import filling, library
from qops.runbook.page import Page, Step
from qops.runbook.walking import Where, commands
from qops.transports.base import Completed
from qops.transports.local import Local
from qops.transports.ssh import Ssh

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not() or "")
every = pytest.mark.skipif(
    not os.environ.get("QOPS_EVERY_BLOCK"), reason="takes a quarter of an hour: QOPS_EVERY_BLOCK=1"
)

TABLE = Table("blocks", "tests/lab/test_runbook_live.py", ("blocks", "how many"), 1)
FAULTS = {fault.cause for fault in faults.ALL}
FEW = ("NCL018", "HST061", "HST008", "SRV009", "gpu-gone", "deadlock")
PAGES = [page for kind in library.KINDS for page in runbook.of_kind(kind)] + [runbook.of_rule(rule) for rule in ALL]
# What a shell or a program says of a command that is wrong, whatever the host is like.
_WRONG = re.compile(r"syntax error|invalid option|unrecognized option|ambiguous redirect|nknown (?:option|command)")
# A look over SSH takes 13 seconds, and most pages ask for one: they get the evidence of one look.
_LOOK = re.compile(r"(qops diagnose)( .*)? -i \S+ -l \S+")
_JUDGED = (0, 1, 3)  # exit statuses of `qops diagnose` when it has judged
SECONDS = 180.0


@dataclass
class Shift:
    """A sound practice host, the machine from which it is managed, and what became of each block."""

    where: Where
    bundle: Path
    desk: Path  # what stands in a clone, and room for what commands write
    ran: dict[str, Counter[str]] = field(default_factory=dict)  # by page

    def host(self, script: str) -> Completed:
        sudo = 'command -v sudo >/dev/null || sudo() { "$@"; }\n'
        return self.where.host.run(("bash", "-c", sudo + script), timeout=SECONDS)

    def here(self, script: str) -> Completed:
        script = _LOOK.sub(rf"\1\2 --from {shlex.quote(str(self.bundle))}", script)
        path = f"cd {shlex.quote(str(self.desk))}\nPATH={shlex.quote(str(Path(sys.executable).parent))}:$PATH\n"
        return self.where.here.run(("bash", "-c", path + script), timeout=SECONDS)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Qops]:
    with practice(tmp_path_factory.mktemp("state"), "runbook", "rtx5090") as made:
        yield made


@pytest.fixture(scope="module")
def shift(lab: Qops, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shift]:
    folder = tmp_path_factory.mktemp("shift")
    inventory = folder / "lab.yml"
    inventory.write_text(lab("inventory"))
    host = Ssh(hosts(str(inventory), "rtx5090-1")[0])
    made = Shift(Where(host, Local(), str(inventory)), folder / "sound.tar.gz", desk(folder / "desk"))
    done = made.here(f"qops collect -i {inventory} -l rtx5090-1 -o {made.bundle} -q")
    assert made.bundle.exists(), done.stderr
    yield made
    host.stop()
    if os.environ.get("QOPS_RECORD_BLOCKS") == "1":
        for what, count in sorted(sum(made.ran.values(), Counter()).items()):
            TABLE.record((what, str(count)))


def _read(page: Page, shift: Shift) -> list[str]:
    """Run what reads; return what is wrong with the commands themselves."""
    wrong, ran = [], shift.ran.setdefault(page.name, Counter())
    ran.clear()  # a page may have been read before
    practised = next((line for line in page.text.splitlines() if line.startswith("Not on a practice host:")), "")
    values = {"HOST": shift.where.host.name, "INVENTORY": shift.where.inventory}
    for step in page.steps:
        if step.by_hand or step.changes:
            ran[_not_run(page, step)] += 1
            continue
        script = commands(step, shift.where, values)
        if filling.missing(script):  # test_pages.py sees to it that the page says so
            ran["read: what a practice host does not have, and the page says what"] += 1
            continue
        done = (shift.here if step.here else shift.host)(script)
        said = (done.stdout + done.stderr).decode(errors="replace")
        wrong += [done.failure] if done.failure else []
        wrong += [line for line in said.splitlines() if _WRONG.search(line)]
        for program in re.findall(r"line \d+: ([\w.-]+): command not found", said):
            wrong += [] if f"`{program}`" in practised else [f"{program} is not there, and the page does not say so"]
        if step.here and done.status not in (_JUDGED if "qops diagnose" in script else (0, 3)):
            wrong.append(f"status {done.status}: {script}: {said[-500:]}")
        ran["read: run from where the inventory is" if step.here else "read: run on the host"] += 1
    return wrong


def _not_run(page: Page, step: Step) -> str:
    if step.by_hand:
        return "done by hand, as the page says"
    if page.kind == "planned":
        return "change something: planned work (tests/lab/test_planned_work_live.py)"
    if page.name in FAULTS:
        return "change something: the lab has the fault (tests/lab/test_fault_to_fix_live.py)"
    return "change something: the lab has no such fault, and the page says so"


@pytest.mark.parametrize("name", FEW)
def test_what_reads_runs_on_a_sound_host(name: str, shift: Shift) -> None:
    assert _read(library.find(name)[0], shift) == []


@every
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_reads_runs_on_a_sound_host_on_every_page(page: Page, shift: Shift) -> None:
    assert _read(page, shift) == []
