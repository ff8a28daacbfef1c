"""`qops diagnose serve --model` as people and scripts meet it."""

import json
from pathlib import Path

import model_folders as made
import pytest
from click.testing import CliRunner
from loopback import Sshd, need_sshd

from qops.cli.group import qops
from qops.cli.run import run
from qops.errors import INCOMPLETE, UsageError


def test_a_model_that_is_whole_and_one_that_is_not(tmp_path: Path) -> None:
    root = made.folder(tmp_path / "m", made.plain("a", "b"), files=2)
    done = CliRunner().invoke(qops, ["diagnose", "serve", "--model", str(root)], standalone_mode=False)
    assert (done.exception, done.return_value) == (None, 0)
    assert "2 files with 0.0 GB of weights are as long as their headers say" in done.stdout
    assert "weights are as long" in done.stdout.splitlines()[-1]  # the verdict's reason
    (root / "model-00002-of-00002.safetensors").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    done = CliRunner().invoke(
        qops, ["diagnose", "serve", "--model", str(root), "--format", "json"], standalone_mode=False
    )
    (host,) = json.loads(done.stdout)["hosts"]
    assert done.return_value == 1
    assert [finding["code"] for finding in host["findings"]] == ["SRV100", "SRV803", "SRV803"]


def test_what_is_asked_wrongly_is_said(tmp_path: Path) -> None:
    for words, why in (
        (("--model", str(tmp_path / "none")), "is no folder"),
        (("--model", str(tmp_path), "--image", "x"), "nor together"),
        (("--model", str(tmp_path), "--gpu", "sm_90"), "what an image is judged for"),
    ):
        done = CliRunner().invoke(qops, ["diagnose", "serve", *words], standalone_mode=False)
        assert isinstance(done.exception, UsageError) and why in done.exception.message


@need_sshd
def test_a_folder_on_other_hosts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = made.folder(tmp_path / "m", made.plain("a", "b"), files=2)
    sshd = Sshd(tmp_path / "sshd")
    try:
        inventory = tmp_path / "hosts.ini"
        inventory.write_text(sshd.entry("far-a") + sshd.entry("far-b"))
        words = ["diagnose", "serve", "-i", str(inventory), "--format", "json", "--model"]
        assert run([*words, str(root)]) == 0
        hosts = json.loads(capsys.readouterr().out)["hosts"]
        assert [(host["host"], host["verdict"]) for host in hosts] == [("far-a", "healthy"), ("far-b", "healthy")]
        (root / "model-00002-of-00002.safetensors").unlink()
        assert run([*words, str(root)]) == 1
        hosts = json.loads(capsys.readouterr().out)["hosts"]
        assert hosts[0]["findings"][0]["code"] == "SRV100"
        assert run([*words, str(tmp_path / "none")]) == INCOMPLETE
        (first, _) = json.loads(capsys.readouterr().out)["hosts"]
        assert "none" in first["reason"] and first["verdict"] == "undetermined"
    finally:
        sshd.stop()
