"""The commands of the runbooks that read, run on a sound practice host; test_fault_to_fix_live.py runs what changes.

A few pages are run always; all of them with QOPS_EVERY_BLOCK=1, which takes a quarter of an hour.
"""

import os
import re
from collections.abc import Iterator

import pytest
from practice_lab import Qops, practice, why_not

from qops import runbook
from qops.inventory import hosts
from qops.rules import ALL
from qops.runbook import filling, library
from qops.runbook.page import Page
from qops.runbook.walking import Where, commands
from qops.transports.local import Local
from qops.transports.ssh import Ssh

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not() or "")
every = pytest.mark.skipif(
    not os.environ.get("QOPS_EVERY_BLOCK"), reason="takes a quarter of an hour: QOPS_EVERY_BLOCK=1"
)

FEW = ("NCL018", "HST061", "HST008", "SRV009", "gpu-gone", "deadlock")
PAGES = [page for kind in library.KINDS for page in runbook.of_kind(kind)] + [runbook.of_rule(rule) for rule in ALL]
# What a shell or a program says of a command that is wrong, whatever the host is like.
_WRONG = re.compile(r"syntax error|invalid option|unrecognized option|ambiguous redirect|nknown (?:option|command)")
SECONDS = 180.0


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Qops]:
    with practice(tmp_path_factory.mktemp("state"), "runbook", "rtx5090") as made:
        yield made


@pytest.fixture(scope="module")
def inventory(lab: Qops, tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("inventory") / "lab.yml"
    file.write_text(lab("inventory"))
    return str(file)


@pytest.fixture(scope="module")
def where(inventory: str) -> Iterator[Where]:
    host = Ssh(hosts(inventory, "rtx5090-1")[0])
    yield Where(host, Local(), inventory)
    host.stop()


def _read(page: Page, where: Where) -> list[str]:
    """Run what reads on the host; return what is wrong with the commands themselves."""
    wrong = []
    practised = next((line for line in page.text.splitlines() if line.startswith("Not on a practice host:")), "")
    for step in page.steps:
        if step.changes or step.here or step.by_hand:
            continue
        script = commands(step, where, {"HOST": where.host.name})
        if lacking := filling.missing(script):
            wrong += [f"{name}: the page does not say so" for name in lacking if f"`{name}`" not in practised]
            continue
        done = where.host.run(
            ("bash", "-c", 'command -v sudo >/dev/null || sudo() { "$@"; }\n' + script), timeout=SECONDS
        )
        said = (done.stdout + done.stderr).decode(errors="replace")
        wrong += [done.failure] if done.failure else []
        wrong += [line for line in said.splitlines() if _WRONG.search(line)]
        for program in re.findall(r"line \d+: ([\w.-]+): command not found", said):
            wrong += [] if f"`{program}`" in practised else [f"{program} is not there, and the page does not say so"]
    return wrong


@pytest.mark.parametrize("name", FEW)
def test_what_reads_runs_on_a_sound_host(name: str, where: Where) -> None:
    assert _read(library.find(name)[0], where) == []


@every
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_reads_runs_on_a_sound_host_on_every_page(page: Page, where: Where) -> None:
    assert _read(page, where) == []
