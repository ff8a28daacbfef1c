"""`qops runbook`: what is listed, shown, and asked before it is run."""

import json
import os
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner

from qops.cli.group import qops
from qops.rules import ALL

QOPS = [sys.executable, "-m", "qops"]


def _run(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*QOPS, "runbook", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=cwd,
        env={**os.environ, "NO_COLOR": "1"},
    )


def test_every_page_is_listed_and_words_choose_among_them() -> None:
    names = {one["name"] for one in json.loads(_run("list", "--format", "json").stdout)["runbooks"]}
    assert {rule.cause for rule in ALL} < names
    done = _run("list", "shm", "small")
    assert done.stdout.splitlines()[1].split()[:2] == ["NCL018", "shm-too-small"]
    assert _run("list", "nosuchword").returncode == 2


def test_a_page_is_shown_with_values_and_never_with_control_characters() -> None:
    assert "PID=4711\n" in _run("show", "NCL001", "--set", "pid=4711").stdout
    assert _run("show", "NCL001", "--set", "pid=\x1b[2J").returncode == 2
    done = _run("show", "shm-to-small")
    assert (done.returncode, "did you mean shm-too-small" in done.stderr) == (2, True)


def test_without_anybody_to_ask_nothing_is_changed(tmp_path: Path) -> None:
    done = _run("run", "NCL024", "-o", "incident", "--read-only", "-q", cwd=tmp_path)
    assert done.returncode in (1, 3)
    steps = json.loads((tmp_path / "incident/incident.json").read_text())["steps"]
    assert {step["state"] for step in steps if step.get("changes")} == {"left out"}
    assert "mtu-mismatch-or-small: " in done.stdout


def test_names_are_completed() -> None:
    done = CliRunner().invoke(
        qops,
        [],
        env={"_QOPS_COMPLETE": "bash_complete", "COMP_WORDS": "qops runbook show NCL01", "COMP_CWORD": "3"},
        prog_name="qops",
    )
    assert "plain,NCL018" in done.output
