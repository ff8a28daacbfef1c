"""What a person or a script meets at the command line: exit status, streams, errors, colour, interruption."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

QOPS = [sys.executable, "-m", "qops"]
FAULT = "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing\n"


def _run(*arguments: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    own = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")} | environment
    return subprocess.run(
        [*QOPS, *arguments], input=stdin, env=own, capture_output=True, text=True, timeout=60, check=False
    )


def test_a_fault_exits_with_1_and_stands_on_stdout_alone() -> None:
    done = _run("diagnose", "--from", "-", stdin=FAULT)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("root cause   SRV008 fork-after-cuda-init")
    assert done.stdout.splitlines()[-1] == "evidence: fault: fork-after-cuda-init"
    assert "\x1b" not in done.stdout


def test_nothing_known_is_undetermined_and_never_healthy() -> None:
    assert _run("diagnose", "--from", "-", stdin="hello\n").returncode == 3
    assert _run("diagnose", "--from", "-", stdin="").returncode == 3
    assert _run("diagnose", "--from", "-", "--exit-zero", stdin="hello\n").returncode == 0


def test_colour_is_what_the_options_and_the_environment_say() -> None:
    assert "\x1b[" in _run("diagnose", "--from", "-", "--color", "always", stdin=FAULT).stdout
    assert "\x1b[" in _run("diagnose", "--from", "-", stdin=FAULT, FORCE_COLOR="1").stdout
    assert "\x1b[" not in _run("diagnose", "--from", "-", stdin=FAULT, FORCE_COLOR="1", NO_COLOR="1").stdout


def test_host_text_cannot_command_the_terminal() -> None:
    hostile = "\x1b]0;owned\x07\x1b[2J" + FAULT.rstrip() + " [bold]x[/] \x9b31m\n"
    for colour in ("never", "always"):
        done = _run("diagnose", "--from", "-", "--color", colour, stdin=hostile)
        assert done.returncode == 1
        assert not {"\x07", "\x9b"} & set(done.stdout)
        assert "owned" not in done.stdout and "[2J" not in done.stdout
        assert "[bold]x[/]" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["diagnos"], "no such command 'diagnos'. Did you mean 'diagnose'?", "see qops --help"),
        (["diagnose", "--from", "/nonexistent"], "cannot read /nonexistent", ""),
        (["diagnose", "--from", "-", "--select", "ABC999"], "no rule is called 'ABC999'", "`qops rules` lists them"),
        (["diagnose", "--from", "-", "--watch"], "--watch", "--from"),
        (["explain", "fork-after-cuda-innit"], "there is no finding", "fork-after-cuda-init"),
    ],
)
def test_a_mistake_gets_one_clear_message_and_status_2(arguments: list[str], message: str, hint: str) -> None:
    done = _run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ") and message in done.stderr and hint in done.stderr
    assert "Traceback" not in done.stderr


def test_a_reader_that_goes_away_is_no_error() -> None:
    script = f"{' '.join(QOPS)} rules | head -n 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout.splitlines()[-1], done.stderr) == ("0", "")


def test_selection_leaves_other_rules_out() -> None:
    assert "SRV008" in _run("diagnose", "--from", "-", "--select", "SRV", stdin=FAULT).stdout
    assert "SRV008" not in _run("diagnose", "--from", "-", "--ignore", "SRV008", stdin=FAULT).stdout


def test_completion_is_printed_for_each_shell() -> None:
    for shell in ("bash", "zsh", "fish"):
        assert "_QOPS_COMPLETE" in _run("completion", shell).stdout


def test_a_damaged_bundle_is_refused_in_one_sentence(tmp_path: Path) -> None:
    bundle = tmp_path / "host.tar.gz"
    bundle.write_bytes(b"\x1f\x8b\x08\x00" + b"\x00" * 40)
    done = _run("diagnose", "--from", str(bundle))
    assert done.returncode in (2, 3)
    assert "Traceback" not in done.stderr
