"""`qops recipes check` as people and scripts meet it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

CHECK = [sys.executable, "-m", "qops", "recipes", "check"]


def _run(*arguments: str, stdin: str = "", cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*CHECK, *arguments], input=stdin, capture_output=True, text=True, timeout=60, check=False, cwd=cwd
    )


def test_a_command_that_the_engine_takes_exits_with_0() -> None:
    done = _run("--version", "0.33.0", "--", "env", "A=1", "vllm", "serve", "M", "--gpu-memory-utilization", "0.9")
    assert (done.returncode, done.stdout, done.stderr) == (0, "nothing to remark\n", "")


def test_a_warning_exits_with_0_and_an_error_with_1() -> None:
    quoted = "VLLM_SLEEP_WHEN_IDLE=1 vllm serve M --gpu-memory-utilization 0.9"
    done = _run("--version", "0.33.0", quoted)
    assert done.returncode == 0 and done.stdout.endswith("0 errors, 1 warning, 0 notes\n")
    done = _run("--engine", "vllm", "--version", "0.33.0", "--", "--model", "M", "--swap-space", "4")
    assert done.returncode == 1
    assert "error: --swap-space: vLLM 0.33.0 does not know it" in done.stdout


def test_a_file_gives_file_and_line_and_its_image_the_release(tmp_path: Path) -> None:
    file = tmp_path / "compose.yaml"
    file.write_text(
        "services:\n  a:\n    image: vllm/vllm-openai:v0.33.0\n    command:\n      - M\n      - --no-such\n",
        encoding="utf-8",
    )
    done = _run("--file", str(file))
    assert done.returncode == 1
    assert f"{file}:6: error: --no-such: vLLM 0.33.0 does not know it" in done.stdout
    document = json.loads(_run("--file", str(file), "--format", "json").stdout)
    errors = [one for one in document["remarks"] if one["severity"] == "error"]
    assert errors[0] | {"message": ""} == {
        "kind": "unknown",
        "severity": "error",
        "flag": "--no-such",
        "message": "",
        "instead": "leave it out",
        "source": str(file),
        "line": 6,
    }
    assert document["summary"] == {"error": 1, "warning": 0, "info": 1}


def test_files_that_a_command_names_are_read_beside_it(tmp_path: Path) -> None:
    (tmp_path / "serve.sh").write_text("vllm serve M --config more.yaml\n", encoding="utf-8")
    (tmp_path / "more.yaml").write_text("port: x\n", encoding="utf-8")
    done = _run("--version", "0.33.0", "--file", "serve.sh", cwd=tmp_path)
    assert "error: --port: 'x' is no whole number" in done.stdout


def test_an_environment_file_is_checked_for_the_engine_that_is_named() -> None:
    text = "VLLM_SLEEP_WHEN_IDLE=1\n"
    done = _run("--engine", "vllm", "--version", "0.33.0", "--file", "-", stdin=text)
    assert done.returncode == 0 and done.stdout.startswith("-:1: warning: VLLM_SLEEP_WHEN_IDLE")
    assert _run("--version", "0.33.0", "--file", "-", stdin=text).returncode == 2


def test_text_from_a_file_cannot_command_the_terminal(tmp_path: Path) -> None:
    done = _run("--version", "0.33.0", "--file", "-", stdin="vllm serve M --x\x1b]0;owned\x07\x1b[2J y\n")
    assert done.returncode == 1
    assert not {"\x1b", "\x07"} & set(done.stdout) and "owned" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "there is nothing to check"),
        (["--", "vllm", "serve", "M"], "which release is not said"),
        (["--version", "0.33.0", "--", "ls"], "the command starts neither vLLM nor SGLang"),
        (["--version", "0.10.0", "--", "vllm", "serve", "M"], "vLLM 0.10.0 is not known"),
        (["--version", "0.5.23", "--engine", "sglang", "--", "vllm", "serve", "M"], "the command starts vllm"),
        (["--version", "0.33.0", "--file", "/nonexistent"], "cannot read /nonexistent"),
        (["--version", "0.33.0", "--file", "-"], "-:3: no YAML: expected"),
    ],
)
def test_a_mistake_gets_one_clear_message_and_status_2(arguments: list[str], message: str) -> None:
    done = _run(*arguments, stdin="services:\n  a: [\n")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {message}") and "Traceback" not in done.stderr
