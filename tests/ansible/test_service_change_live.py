"""A change of what a service runs with, on a practice host: through the gate, back when it fails, mended when it is cut.

The engine is a stand-in (standing_engine.py); systemd, SSH and the role are real.
"""

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from changing import PORT, PROGRAM, SECRET, Host, changed
from endings import record
from playing import BIN, ROOT
from practice_lab import practice

pytestmark = [pytest.mark.lab, pytest.mark.slow]

HOST = "rtx5090-1"
SERVICE = "stand-in, bare"
# A client that asks all the time, and writes down when it was answered.
ASKS = (
    f"while :; do curl -sf -m 5 -o /dev/null localhost:{PORT}/v1/models && date +%s.%N >>/run/answered; sleep 0.2; done"
)


@pytest.fixture(scope="module", name="host")
def host_that_serves(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    with practice(tmp_path_factory.mktemp("state"), "change", "rtx5090") as lab:
        one = Host(lab, tmp_path_factory.mktemp("given"), HOST)
        one.install()
        status, output = one.play()
        assert status == 0, output
        yield one


def test_the_first_start_is_a_release_and_a_second_run_changes_nothing(host: Host) -> None:
    status, output = host.play()
    assert (status, changed(output, HOST)) == (0, 0), output
    (only,) = host.releases()
    assert only.endswith("  in force, good")


def test_check_mode_shows_the_change_and_makes_none(host: Host) -> None:
    before = host.unit()
    status, output = host.play("--check", "--diff", says="Check it.")
    assert status == 0, output
    assert re.search(r"^-.*It is Paris\.", output, re.MULTILINE)
    assert re.search(r"^\+.*Check it\.", output, re.MULTILINE)
    assert host.unit() == before


def test_a_change_serves_what_is_new_and_ends_no_request(host: Host) -> None:
    said: list[str] = []
    client = threading.Thread(target=lambda: said.append(host.answer(seconds=12)))
    client.start()
    host.run(f"systemd-run -q --unit asks sh -c '{ASKS}'")
    status, output = host.play(says="It is Paris, of course.")
    client.join()
    times = [float(line) for line in host.run("systemctl stop asks; cat /run/answered").split()]
    assert status == 0, output
    record("good change", SERVICE, max(b - a for a, b in pairwise(times)), "answers with what is new")
    assert "It is Paris." in said[0], "the request in flight was lost"
    assert "tiny runs with what is new" in output
    assert "was 'It is Paris.', and is 'It is Paris, of course.' now" in output
    assert "It is Paris, of course." in host.answer()
    assert changed(host.play(says="It is Paris, of course.")[1], HOST) == 0


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"command": f"{PROGRAM} serve --dies"}, "Cannot find any model weights"),
        ({"command": f"{PROGRAM} serve --no-such-option"}, "unrecognized arguments"),
        ({"command": "/opt/no-such-engine serve"}, "/opt/no-such-engine is not on this host"),
        ({"command": f"{PROGRAM} serve --template broken"}, "chat template cannot be rendered"),
        ({"says": "no no no no no no no no no no no no no no"}, "says the same over and over"),
        ({"instance": {"smoke": [{"prompt": "Where?", "contains": "Berlin"}]}}, "does not contain 'Berlin'"),
    ],
)
def test_a_change_that_does_not_serve_is_undone(host: Host, more: dict[str, Any], why: str) -> None:
    good = host.answer()
    began = time.monotonic()
    status, output = host.play(**more)
    assert status != 0
    record(f"change: {why}", SERVICE, time.monotonic() - began, "the run fails, and what served before serves again")
    assert why in output, output
    assert "the change was undone" in output
    assert host.answer() == good
    in_force = [line for line in host.releases() if "in force" in line]
    assert len(in_force) == 1
    assert "  in force, good" in in_force[0]
    assert host.run("ls /var/lib/qops/serve/tiny").split().count("change.json") == 0


@pytest.mark.parametrize("step", ["begun", "stopped"])
def test_a_change_that_is_killed_is_undone_by_the_watch(host: Host, step: str) -> None:
    good = host.answer()
    # It waits: for an idle moment that does not come, or for a token that does not come.
    command = f"{PROGRAM} serve {'--says Never' if step == 'begun' else '--hangs'}"
    busy = threading.Thread(target=lambda: host.answer(seconds=150))
    if step == "begun":
        busy.start()
    playing = threading.Thread(target=lambda: host.play(command=command))
    playing.start()
    host.until(step)
    host.run("sleep 1; pkill -9 -f '[s]erve change go'")
    began = time.monotonic()
    host.run('sed -i \'s/"until": [0-9.]*/"until": 0/\' /var/lib/qops/serve/tiny/change.json || true')
    host.until_over()
    if step == "begun":
        busy.join()
    else:
        record("gate killed in a change", SERVICE, time.monotonic() - began, "what served before answers again")
    playing.join()
    assert host.answer() == good
    assert "was broken off; its files are those of release" in host.run("journalctl -u 'qops-serve-watch@tiny' -o cat")


def test_a_change_goes_on_when_ansible_is_killed(host: Host) -> None:
    command = f"{PROGRAM} serve --slow 8 --says 'Without Ansible.'"
    playing = subprocess.Popen(
        [BIN / "ansible-playbook", "playbooks/serve.yml", *host.chosen(command=command)],
        cwd=ROOT,
        env={**os.environ, **host.lab.environment, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    host.until("stopped")
    os.killpg(playing.pid, signal.SIGKILL)
    playing.wait()
    host.until_over()
    assert "Without Ansible." in host.answer()
    assert changed(host.play(command=command)[1], HOST) == 0


def test_a_machine_that_goes_down_in_a_change_comes_back_with_what_served(host: Host) -> None:
    good = host.answer()
    playing = threading.Thread(target=lambda: host.play(command=f"{PROGRAM} serve --hangs"))
    playing.start()
    host.until("stopped")
    began = time.monotonic()
    boot = host.run("cat /proc/sys/kernel/random/boot_id")
    host.lab.run("ssh", HOST, "--", "systemctl reboot")
    while (now := host.lab.run("ssh", HOST, "--", "cat /proc/sys/kernel/random/boot_id"))[0] or boot in now[1]:
        time.sleep(1)
    host.until_over()
    record("machine down in a change", SERVICE, time.monotonic() - began, "what served before answers again")
    playing.join()
    assert host.answer() == good


def test_an_earlier_release_comes_back_when_it_is_asked_for(host: Host) -> None:
    book = "playbooks/rollback.yml"
    status, output = host.play(book=book)
    assert status == 0, output
    assert "nothing is changed" in output
    before = host.answer()
    status, output = host.play("-e", "inference_service_release=previous", book=book)
    assert status == 0, output
    assert host.answer() != before
    assert "It is Paris" in host.answer()
    status, output = host.play("-e", "inference_service_release=never-was", book=book)
    assert status != 0
    assert "there are: " in output


def test_the_secret_is_in_root_only_files_alone(host: Host) -> None:
    where = host.run(f"grep -rl {SECRET} /etc /var/lib/qops /run/qops /var/log 2>/dev/null || true").split()
    assert where
    assert all(path.endswith((".secret", "/secret")) for path in where), where
    modes = host.run(f"stat -c '%a %U' {' '.join(where)} /var/lib/qops/serve/tiny/releases").splitlines()
    assert set(modes) <= {"600 root", "700 root"}
    assert SECRET not in host.run("journalctl -o cat; ps axww -o args; systemctl show qops-serve-tiny")
