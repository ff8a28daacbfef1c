"""A JSON file that several programs own: qops_files lays keys over it."""

import json
from pathlib import Path
from typing import Any

from playing import play

WANTED = {"features": {"cdi": True}, "runtimes": {"nvidia": {"args": [], "path": "nvidia-container-runtime"}}}


def _write(file: Path, *options: str, merge: dict[str, Any] = WANTED) -> tuple[int, str]:
    task = {"name": "Merge", "qops_files": {"files": [{"dest": str(file), "merge": "{{ wanted }}"}]}}
    return play(file.parent, [task], {"wanted": merge}, *options)


def test_every_other_key_the_mode_and_a_password_stay(tmp_path: Path) -> None:
    file = tmp_path / "daemon.json"
    own = {"proxies": {"http-proxy": "http://bob:hunter2again@192.0.2.9:3128"}, "features": {"buildkit": True}}
    file.write_text(json.dumps(own))
    file.chmod(0o600)
    status, output = _write(file, "--check", "--diff")
    assert (status, json.loads(file.read_text())) == (0, own), output
    assert '+        "cdi": true' in output
    assert "hunter2again" not in output
    status, output = _write(file, "--diff", "-vv")
    assert status == 0 and "hunter2again" not in output, output
    assert json.loads(file.read_text()) == {**own, **WANTED, "features": {"buildkit": True, "cdi": True}}
    assert file.stat().st_mode & 0o777 == 0o600
    assert "changed=0" in _write(file)[1]


def test_a_file_that_is_no_json_is_never_written_over(tmp_path: Path) -> None:
    file = tmp_path / "daemon.json"
    file.write_text("{,}\n")
    status, output = _write(file)
    assert status == 2
    assert f"{file}:1 is no JSON" in output
    assert file.read_text() == "{,}\n"


def test_a_file_that_is_not_there_is_made(tmp_path: Path) -> None:
    file = tmp_path / "daemon.json"
    status, output = _write(file)
    assert (status, json.loads(file.read_text())) == (0, WANTED), output
