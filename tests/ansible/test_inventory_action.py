"""The check of an inventory inside ansible-playbook, with what only Ansible knows: -e, plug-ins, the play's hosts."""

import os
import subprocess
from pathlib import Path

import pytest
from playing import BIN, ROOT

PLAY = """
- hosts: all
  gather_facts: false
  connection: local
  tasks:
    - qops_inventory:
        own_variables: [firewall_zone]
      run_once: true
    - ansible.builtin.debug: {msg: went on}
"""
HOSTS = "hgx: {hosts: {a: , b: }}\nspark: {hosts: {c: }}\n"


def _run(tmp_path: Path, files: dict[str, str], *options: str) -> tuple[int, str]:
    for name, content in {"inventory/hosts.yml": HOSTS, "books/play.yml": PLAY, **files}.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    done = subprocess.run(
        [str(BIN / "ansible-playbook"), "-i", str(tmp_path / "inventory"), *options, str(tmp_path / "books/play.yml")],
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return done.returncode, " ".join((done.stdout + done.stderr).split())


@pytest.mark.parametrize("check", [(), ("--check", "--diff")], ids=["run", "check"])
def test_a_good_inventory_passes(tmp_path: Path, check: tuple[str, ...]) -> None:
    files = {"inventory/group_vars/hgx.yml": "firewall_zone: x\nfirewall_allow: [10.0.0.0/8]\n"}
    status, output = _run(tmp_path, files, *check)
    assert status == 0, output
    assert output.count("went on") == 3


def test_a_mistake_stops_every_host_and_shows_no_secret(tmp_path: Path) -> None:
    files = {"inventory/group_vars/hgx.yml": "firewall_alow: [10.0.0.0/8]\nansible_become_password: sesame-open\n"}
    status, output = _run(tmp_path, files)
    assert status == 2
    assert "hgx.yml:1: firewall_alow is no variable of the role firewall, so it does nothing" in output
    assert "hgx.yml:2: ansible_become_password holds a secret in plain text" in output
    assert "sesame" not in output
    assert "went on" not in output
    status, output = _run(tmp_path, files, "-l", "spark")
    assert status == 0, output  # it is another group's
    assert "firewall_alow" in output


def test_what_is_given_on_the_command_line_is_judged_too(tmp_path: Path) -> None:
    status, output = _run(tmp_path, {}, "-e", "firewall_alow=x", "-e", "firewall_manage=false")
    assert status == 2
    assert "given by -e or by a plug-in: firewall_alow is no variable" in output
    assert "firewall_manage" not in output


def test_variables_beside_the_playbook_count(tmp_path: Path) -> None:
    status, output = _run(tmp_path, {"books/group_vars/all.yml": 'firewall_manage: "no"\n'})
    assert (status, "firewall_manage is a boolean written as text" in output) == (2, True)
