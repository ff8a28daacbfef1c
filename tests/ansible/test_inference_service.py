"""The role inference_service as it is written: what Ansible makes of the secrets, and what it shows of them."""

import os
from pathlib import Path

import pytest
from playing import ROOT, play

ROLE = ROOT / "roles/inference_service"
SECRET = 'planted-$x`y"z\\-93'


def _secrets(tmp_path: Path, *options: str, value: str = SECRET) -> tuple[int, str]:
    """Run the role's tasks about secrets on this machine, with a folder of the test's in place of /etc/qops/serve."""
    template = (ROLE / "templates/secrets.json.j2").read_text().replace("/etc/qops/serve", str(tmp_path / "serve"))
    (tmp_path / "templates").mkdir(exist_ok=True)
    (tmp_path / "templates/secrets.json.j2").write_text(template)
    (tmp_path / "secrets.yml").write_text((ROLE / "tasks/secrets.yml").read_text())
    (tmp_path / "serve").mkdir(exist_ok=True)
    given = {
        "__inference_service_plan": {"facts": {"secrets": ["tiny", "whale"], "change": []}},
        "inference_service_secrets": {"tiny": {"VLLM_API_KEY": value, "B": "2"}, "whale": {"HF_TOKEN": "hf"}},
    }
    return play(tmp_path, [{"ansible.builtin.include_tasks": "secrets.yml"}], given, *options)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may make files of root's")
def test_secrets_are_in_files_for_root_alone_and_nowhere_else(tmp_path: Path) -> None:
    status, output = _secrets(tmp_path, "-vvv", "--diff")
    assert status == 0, output
    written = tmp_path / "serve/tiny.secret"
    assert written.read_text() == f"VLLM_API_KEY='{SECRET}'\nB='2'\n"
    assert written.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "serve/whale.secret").read_text() == "HF_TOKEN='hf'\n"
    assert "planted" not in output
    status, output = _secrets(tmp_path, "-vvv", "--diff")
    assert status == 0 and "changed=0" in output


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may make files of root's")
def test_a_changed_secret_is_not_shown_in_check_mode(tmp_path: Path) -> None:
    assert _secrets(tmp_path)[0] == 0
    status, output = _secrets(tmp_path, "--check", "--diff", "-vvv", value="planted-anew")
    assert status == 0 and "changed=1" in output and "planted" not in output
    assert "planted-anew" not in (tmp_path / "serve/tiny.secret").read_text()


def test_each_program_is_installed() -> None:
    listed = (ROLE / "vars/main.yml").read_text()
    for path in (ROLE / "files").rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            assert f"file: {path.relative_to(ROLE / 'files')}" in listed, path
