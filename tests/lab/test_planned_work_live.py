"""The pages for planned work, followed on a practice host from a printed inventory, and what they say under Undo.

In their order: the first page, `add-host`, gives the host the driver to which a later one goes back. All of it takes ten
minutes: QOPS_EVERY_BLOCK=1.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from practice_lab import Qops, desk, practice

from qops import runbook
from qops.runbook.page import UNDO, Page

pytestmark = [
    pytest.mark.lab,
    pytest.mark.slow,
    pytest.mark.skipif(not os.environ.get("QOPS_EVERY_BLOCK"), reason="takes ten minutes: QOPS_EVERY_BLOCK=1"),
]
HOST = "rtx5090-1"
SECONDS = 900


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Qops]:
    with practice(tmp_path_factory.mktemp("state"), "planned", "rtx5090") as made:
        yield made


# What a page says to do before, or what asks for the work.
ASKED = {"reboot": "touch /run/reboot-required"}
CHOSEN = {"driver-upgrade": {"nvidia_driver_version": "595"}}


def _inventory(lab: Qops, page: Page, folder: Path) -> str:
    inventory = yaml.safe_load(lab("inventory"))
    inventory["lab"]["hosts"][HOST].update(CHOSEN.get(page.name, {}))
    file = folder / "lab.yml"
    file.write_text(yaml.safe_dump(inventory))
    return str(file)


def _run(clone: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(words, cwd=clone, capture_output=True, text=True, check=False, timeout=SECONDS)


@pytest.mark.parametrize("page", runbook.of_kind("planned"), ids=lambda page: page.name)
def test_a_page_for_planned_work_is_followed_to_its_end(page: Page, lab: Qops, tmp_path: Path) -> None:
    inventory = _inventory(lab, page, tmp_path)
    lab("ssh", HOST, "--", ASKED.get(page.name, "true"))
    clone, folder = desk(tmp_path / "clone"), tmp_path / "incident"
    there = ("-i", inventory, "-l", HOST, "-o", str(folder), "--yes")
    done = _run(clone, sys.executable, "-m", "qops", "runbook", "run", page.name, *there)
    assert done.returncode == 0, done.stdout + done.stderr
    steps = json.loads((folder / "incident.json").read_text())["steps"]
    for one in steps:  # a diagnosis has 3 where nothing serves yet that could show that it works
        assert one.get("status", 0) in ((0, 3) if "qops diagnose" in one["script"] else (0,)), one["script"]
    for step in page.steps:
        if step.heading == UNDO:
            script = step.script.replace('"$HOST"', f"{HOST} -i {inventory}")
            undone = _run(clone, "sh", "-c", f"PATH={Path(sys.executable).parent}:$PATH; {script}")
            assert undone.returncode == 0, undone.stdout + undone.stderr
