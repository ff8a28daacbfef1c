import json
from pathlib import Path

import pytest

from qops.cli.run import run

ROOT = Path(__file__).parent.parent.parent
HOSTS = "hgx: {hosts: {'h[1:2]': }}\nspark: {hosts: {c: }}\n"


def _run(tmp_path: Path, variables: str, *options: str) -> int:
    (tmp_path / "group_vars").mkdir(exist_ok=True)
    (tmp_path / "hosts.yml").write_text(HOSTS)
    (tmp_path / "group_vars/hgx.yml").write_text(variables)
    return run(["inventory", str(tmp_path), "--roles", str(ROOT / "roles"), *options])


def test_mistakes_are_told_and_make_the_status(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(tmp_path, "host_tuning_govenor: performance\n") == 1
    assert "hgx.yml:1: host_tuning_govenor is no variable of the role host_tuning" in capsys.readouterr().out


def test_a_good_inventory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(tmp_path, "host_tuning_governor: performance\n") == 0
    assert capsys.readouterr().out.startswith("no mistake in ")


def test_what_touches_other_hosts_is_a_note(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(tmp_path, "host_tuning_govenor: x\n", "-l", "spark", "--format", "json") == 0
    (one,) = json.loads(capsys.readouterr().out)["mistakes"]
    assert one["grave"] is False
    assert _run(tmp_path, "host_tuning_govenor: x\n", "-l", "h2") == 1


@pytest.mark.parametrize("options", [("-l", "nobody"), ("--roles", "/nowhere")])
def test_what_does_not_exist_is_a_wrong_usage(tmp_path: Path, options: tuple[str, str]) -> None:
    assert _run(tmp_path, "", *options) == 2
