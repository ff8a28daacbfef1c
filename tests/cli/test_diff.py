"""`qops diff` as people and scripts meet it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from qops.cli.group import qops
from qops.errors import QopsError, UsageError

HOSTS = Path(__file__).parent.parent / "hosts"
IDLE, KILLED = str(HOSTS / "live2-idle.tar.gz"), str(HOSTS / "live2-killed.tar.gz")


def _run(*words: str) -> Result:
    done = CliRunner().invoke(qops, ["diff", *words], standalone_mode=False)
    if isinstance(done.exception, QopsError):
        raise done.exception
    assert done.exception is None, done.exception
    return done


def test_a_bundle_and_itself() -> None:
    done = _run(IDLE, IDLE)
    assert done.return_value == 0
    assert done.stdout.splitlines()[-1].startswith("nothing changed in ")


def test_a_fault_that_came_is_first() -> None:
    done = _run(IDLE, KILLED, "--format", "json")
    said = json.loads(done.stdout)
    assert done.return_value == 1
    first = said["changes"][0]
    assert (first["what"], first["subject"], first["after"]) == ("fault", "rank-stopped (rank 1 (GPU 1))", "found")
    matters = [change["matter"] for change in said["changes"]]
    assert matters == sorted(matters, key=["breaks", "slows", "differs"].index)
    assert said["before"]["collected"] < said["after"]["collected"]


def test_loose_files_and_a_secret_in_an_option(tmp_path: Path) -> None:
    for name, key, size in (("a", "sk-proj-aaaaaaaaaaaaaaaaaaaaaaaa", 4), ("b", "sk-proj-bbbbbbbbbbbbbbbbbbbbbbbb", 8)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "env.txt").write_text(f"NCCL_BUFFSIZE={size}\nVLLM_API_KEY={key}\nNCCL_DEBUG=WARN\n")
    done = _run(str(tmp_path / "a"), str(tmp_path / "b"))
    assert "variable NCCL_BUFFSIZE" in done.stdout and "    - 4\n    + 8\n" in done.stdout
    assert "sk-proj" not in done.stdout
    assert "sk-proj" not in _run(str(tmp_path / "a"), str(tmp_path / "b"), "--format", "json").stdout


def test_nothing_in_common_is_not_called_unchanged(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("hello\n")
    done = _run(str(tmp_path / "b.txt"), str(tmp_path / "b.txt"))
    assert done.return_value == 3
    assert done.stdout.splitlines()[-1] == "nothing could be compared: the two sides show no common aspect"


def test_what_is_asked_wrongly_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no bundle nowhere"):
        _run("nowhere", IDLE)
    (tmp_path / "broken.tar.gz").write_bytes(b"\x1f\x8bnot really")
    done = _run(str(tmp_path / "broken.tar.gz"), IDLE)
    assert done.return_value == 3 and "nothing could be compared" in done.stdout
