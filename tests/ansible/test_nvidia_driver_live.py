"""The role nvidia_driver on a practice host: from bare to a driver, up, back without a network, and through faults."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playing import ansible_playbook
from practice_lab import Qops, practice, workstations

pytestmark = pytest.mark.lab
HOST = "rtx5090-1"
PROGRAM = "python3 -I /usr/local/lib/qops/nvidia_driver"
SPEC = "/etc/qops/nvidia-driver.json"
# As a machine that never had a driver.
BARE = (
    "echo none >/var/lib/qops-lab/driver-library; echo none >/var/lib/qops-lab/driver-module; "
    "systemctl restart qops-lab-hardware"
)
# The role and what it promises, without the others of site.yml.
BOOK = """
- hosts: lab
  become: true
  gather_facts: false
  tasks:
    - ansible.builtin.import_role: {name: nvidia_driver}
    - ansible.builtin.import_role: {name: nvidia_driver, tasks_from: verify.yml}
"""
# The first host comes last with each of its tasks, as one that is far away or busy does.
SLOW_FIRST = """
- hosts: lab
  become: true
  gather_facts: false
  tasks:
    - ansible.builtin.import_role: {name: nvidia_driver}
      when: lookup('pipe', 'sleep 0.5' if inventory_hostname == 'two-1' else 'true') == ''
"""
WANT = f'sed -i \'s/"version": ".*"/"version": "%s"/; s/driver-pinning-[0-9.]*/driver-pinning-%s/\' {SPEC}'


@pytest.fixture(scope="module", name="lab")
def _lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Qops]:
    with practice(tmp_path_factory.mktemp("state"), "driver", "rtx5090") as lab:
        lab("ssh", HOST, "--", BARE)
        (lab.place.folder / "driver.yml").write_text(BOOK)
        yield lab


def _play(lab: Qops, *options: str, book: str = "") -> tuple[int, str]:
    book = book or str(lab.place.folder / "driver.yml")
    status, output = ansible_playbook(book, "-l", "lab", *options, env=lab.environment, timeout=400)
    return status, " ".join(output.split())


def _changed(output: str) -> int:
    found = re.search(r"rtx5090-1 : ok=\d+ changed=(\d+)", output)
    return int(found[1]) if found else -1


def _on(lab: Qops, command: str) -> str:
    return lab("ssh", HOST, "--", command).strip()


def _driver(lab: Qops) -> str:
    return _on(lab, "nvidia-smi --query-gpu=driver_version --format=csv,noheader | sort -u")


def _sound(lab: Qops) -> None:
    """All held, nothing half done, one pin, the daemon at work, no journal."""
    said = _on(
        lab,
        "dpkg-query -W -f '${db:Status-Abbrev}|${Package}|${Version}\\n' | grep -E '\\|[5-6][0-9]{2}\\.' | "
        "grep -v pinning | cut -c1-3 | sort -u; ls /etc/apt/preferences.d | wc -l; "
        "systemctl is-active nvidia-persistenced; ls /var/lib/qops/nvidia_driver | grep -c journal || true; dpkg --audit",
    )
    assert said.split() == ["hi", "1", "active", "0"]


def _repository(lab: Qops, verb: str) -> None:
    subprocess.run(
        ["docker", verb, f"qops-{lab.environment['QOPS_LAB']}-packages-debian13"], check=True, capture_output=True
    )


def test_check_mode_on_a_bare_host_passes_and_changes_nothing(lab: Qops) -> None:
    status, output = _play(lab, "--check", "--diff")
    assert status == 0, output
    assert "driver.version = 580 (was not set)" in output
    assert _on(lab, "ls -d /etc/qops /var/lib/qops /etc/modprobe.d/qops-nvidia.conf 2>/dev/null || true") == ""


def test_the_first_run_installs_and_the_second_changes_nothing(lab: Qops) -> None:
    status, output = _play(lab)
    assert status == 0, output
    assert _driver(lab) == "580.159.04"
    _sound(lab)
    status, output = _play(lab)
    assert (status, _changed(output)) == (0, 0), output


def test_a_gpu_in_use_and_a_flavour_that_cannot_be_are_refused(lab: Qops) -> None:
    unit = "[Service]\\nExecStart=/bin/bash -c 'exec -a VLLM::Worker_TP0 sleep 1000'\\n"
    _on(lab, f'printf "{unit}" >/etc/systemd/system/engine.service; systemctl start engine; sleep 0.5')
    status, output = _play(lab, "-e", "nvidia_driver_version=595 nvidia_driver_flavour=proprietary")
    assert status == 2
    assert "the GPUs are in use by" in output and "Blackwell needs the open one" in output
    assert (_changed(output), _driver(lab)) == (0, "580.159.04")


def test_an_upgrade_stops_and_starts_who_uses_the_gpus(lab: Qops) -> None:
    status, output = _play(lab, "-e", '{"nvidia_driver_version": "595", "nvidia_driver_stop_clients": true}')
    assert status == 0, output
    assert _driver(lab) == "595.71.05"
    _sound(lab)
    assert _on(lab, "systemctl is-active engine; systemctl stop engine") == "active"


def test_back_without_a_network(lab: Qops) -> None:
    _repository(lab, "stop")
    _on(lab, "rm -f /var/cache/apt/archives/*.deb")
    try:
        status, output = _play(lab, book="playbooks/rollback.yml")
    finally:
        _repository(lab, "start")
    assert status == 0, output
    assert "went back to 580.159.04" in output
    assert _driver(lab) == "580.159.04"
    _sound(lab)


def test_a_module_that_cannot_be_built_takes_the_change_back(lab: Qops) -> None:
    _on(lab, f"mkdir -p /etc/qops-lab; echo 'nvidia/595.*' >/etc/qops-lab/dkms-fails; {WANT % ('595', '595')}")
    status, out, _ = lab.run("ssh", HOST, "--", f"{PROGRAM} change")
    assert status == 1
    assert "Bad return status for module build" in out and "The driver of before, 580.159.04, is back" in out
    assert _driver(lab) == "580.159.04"
    _sound(lab)
    _on(lab, "rm /etc/qops-lab/dkms-fails")


# In a program's place: where it is called with certain words, the whole session ends as by kill -9, at that very step.
STRIKE = """mv {program} {program}.real && cat >{program} <<'END' && chmod 755 {program}
#!/bin/sh
case "$*" in {words}) pkill -KILL -s 0; kill -KILL $$ ;; esac
exec {program}.real "$@"
END
"""


@pytest.mark.parametrize(
    ("program", "words"),
    [
        pytest.param("/usr/bin/dpkg-deb", "*--fsys-tarfile*libcuda1_595*", id="libcuda1-unpacked"),
        pytest.param("/usr/bin/dpkg-deb", "*--fsys-tarfile*libnvcuvid1_595*", id="libnvcuvid1-unpacked"),
        pytest.param("/usr/sbin/dkms", "*build*595*", id="module-built"),
    ],
)
def test_what_was_killed_in_the_middle_is_finished_by_the_next_run(lab: Qops, program: str, words: str) -> None:
    status, output = _play(lab, "-e", '{"nvidia_driver_version": "580"}')
    assert (status, _driver(lab)) == (0, "580.159.04"), output
    _on(lab, WANT % ("595", "595"))
    _on(lab, STRIKE.format(program=program, words=words))
    _on(lab, f"setsid --wait {PROGRAM} change >/dev/null 2>&1; mv -f {program}.real {program}")
    assert "install" in _on(lab, "cat /var/lib/qops/nvidia_driver/journal.json")
    assert _on(lab, "dpkg --audit")
    status, output = _play(lab, "-e", '{"nvidia_driver_version": "595"}')
    assert status == 0, output
    assert "repaired an interrupted change" in output
    assert _driver(lab) == "595.71.05"
    _sound(lab)


def test_where_the_change_fails_on_one_host_the_next_is_left(tmp_path: Path) -> None:
    with practice(tmp_path / "state", "order", workstations(tmp_path, "two-1", "two-2", docker=False)) as lab:
        for number in (1, 2):
            lab("ssh", f"two-{number}", "--", BARE)
        lab("ssh", "two-1", "--", "mkdir -p /etc/qops-lab; echo 'nvidia/*' >/etc/qops-lab/dkms-fails")
        (lab.place.folder / "driver.yml").write_text(SLOW_FIRST)
        status, output = _play(lab)
        assert status == 2
        assert "error: told to fail, by /etc/qops-lab/dkms-fails" in output, output
        assert "the driver is left as it is here, because its change failed on two-1" in output
        assert lab("ssh", "two-2", "--", "dpkg-query -W 'nvidia*' 2>/dev/null || true").strip() == ""
        lab("ssh", "two-1", "--", "rm /etc/qops-lab/dkms-fails")
        status, output = _play(lab)
        assert status == 0, output
        for number in (1, 2):
            assert "RTX 5090" in lab("ssh", f"two-{number}", "--", "nvidia-smi -L")
