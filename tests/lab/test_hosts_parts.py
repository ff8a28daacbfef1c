"""What needs no Docker: keys, payload, addresses, faults, names, the lock."""

import io
import subprocess
import tarfile
import threading
from pathlib import Path

import pytest
import yaml

from qops.errors import UsageError
from qops.lab import faults, inventory, keys, network, payload, place, planting
from qops.lab.docker import Container, Docker
from qops.lab.errors import LabError
from qops.lab.images import Base
from qops.lab.place import Place
from qops.lab.scenario import Scenario, ScenarioHost

HOST = ScenarioHost("one", "debian12", True)
SCENARIO = Scenario("s", "About it.", "hgx", (HOST,), {"gpus": 8}, "s")


def container(**changes: str) -> Container:
    values = {
        "name": "qops-lab-one", "lab": "lab", "host": "one", "scenario": "s", "source": "s",
        "hardware_class": "hgx", "spec": "x", "status": "running", "address": "10.0.0.10",
    }  # fmt: skip
    return Container(**{**values, **changes})


@pytest.fixture
def here(tmp_path: Path) -> Place:
    lab = Place("lab", tmp_path / "lab")
    lab.folder.mkdir()
    keys.ensure_pair(lab.key, "qops-lab")
    keys.ensure_pair(keys.host_key(lab, "one"), "one")
    return lab


def packed(here: Place, host: ScenarioHost = HOST) -> tarfile.TarFile:
    return tarfile.open(fileobj=io.BytesIO(payload.pack(payload.entries(here, SCENARIO, host))))


def test_the_payload_is_the_same_each_time_and_says_that_gpus_are_simulated(here: Place):
    first, second = (payload.pack(payload.entries(here, SCENARIO, HOST)) for _ in range(2))
    assert first == second
    motd = packed(here).extractfile("etc/motd")
    assert motd is not None
    assert b"ITS GPUS ARE SIMULATED" in motd.read()


def test_private_files_of_the_payload_are_private(here: Place):
    members = {member.name: member for member in packed(here)}
    assert members["etc/ssh/ssh_host_ed25519_key"].mode == 0o600
    assert members["root/.ssh/authorized_keys"].mode == 0o600


def test_each_simulator_command_is_linked_and_executable(here: Place):
    members = {member.name: member for member in packed(here)}
    for path in (payload.simulator() / "bin").iterdir():
        if path.is_file():
            assert members[f"opt/qops-lab/sim/bin/{path.name}"].mode == 0o755
            assert members[f"usr/local/bin/{path.name}"].linkname == f"/opt/qops-lab/sim/bin/{path.name}"
    assert not [name for name in members if "__pycache__" in name]


def test_docker_starts_only_where_the_scenario_asks_for_it(here: Place):
    wants = "etc/systemd/system/multi-user.target.wants/docker.service"
    assert wants in packed(here).getnames()
    assert wants not in packed(here, ScenarioHost("one", "debian12", False)).getnames()


def test_hardware_that_json_cannot_hold_is_refused(here: Place):
    odd = Scenario("s", "About it.", "hgx", (HOST,), {"day": {1, 2}}, "s")
    with pytest.raises(UsageError, match="scenario s"):
        payload.entries(here, odd, HOST)


def test_a_key_is_made_once(here: Place):
    before = here.key.read_bytes()
    keys.ensure_pair(here.key, "again")
    assert here.key.read_bytes() == before
    assert here.key.stat().st_mode & 0o077 == 0


def test_inventory_has_a_group_for_each_class_and_trusts_the_lab_alone(here: Place):
    read = yaml.safe_load(inventory.render(here, [container(), container(host="two", status="created")]))
    assert set(read) == {"lab", "hgx"}
    assert list(read["hgx"]["hosts"]) == list(read["lab"]["hosts"]) == ["one"]
    variables = read["lab"]["hosts"]["one"]
    assert (variables["ansible_host"], variables["ansible_user"], variables["ansible_port"]) == (
        "10.0.0.10",
        "root",
        22,
    )
    assert f"UserKnownHostsFile={here.known_hosts}" in variables["ansible_ssh_common_args"]


def test_inventory_says_by_itself_where_packages_come_from(here: Place):
    said = yaml.safe_load(inventory.render(here, [container()]))["lab"]["vars"]
    assert said == {
        "container_engine_source": "distribution",
        "container_toolkit_repository": "leave",
        "nvidia_driver_repository": "leave",
    }


def test_known_hosts_name_the_address(here: Place):
    keys.write_known_hosts(here, [("one", "10.0.0.10"), ("without-key", "10.0.0.11")])
    (line,) = here.known_hosts.read_text().splitlines()
    assert line.startswith("10.0.0.10,one ssh-ed25519 ")


def test_addresses_leave_out_what_is_taken_and_end():
    found = network.addresses("10.0.0.0/28", ["a", "b"], ["10.0.0.10"])
    assert found == {"a": "10.0.0.11", "b": "10.0.0.12"}
    with pytest.raises(LabError, match="full"):
        network.addresses("10.0.0.0/28", "abcdef", [])


def test_a_base_is_named_after_what_it_is_made_of():
    assert Base("debian12").tag != Base("debian13").tag
    assert Base("debian12").tag.startswith("qops-lab-base:debian12-")


def test_every_fault_file_is_listed_and_named_by_its_cause():
    folder = Path(faults.__file__).parent
    files = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    assert {fault.cause.replace("-", "_") for fault in faults.ALL} == files
    for fault in faults.ALL:
        assert bool(fault.plant) == bool(fault.mend), fault.cause
        for step in (*fault.plant, *fault.mend, fault.check):
            subprocess.run(["sh", "-n", "-c", step], check=True)


def test_a_fault_is_refused_where_the_class_cannot_have_it(here: Place):
    with pytest.raises(UsageError, match="a spark host cannot have fabric-manager-not-running"):
        planting.plant(here, container(hardware_class="spark"), planting.find("fabric-manager-not-running"), print)


def test_a_lab_name_is_checked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("QOPS_LAB", raising=False)
    assert place.here() == Place("lab", tmp_path / "qops/lab")
    monkeypatch.setenv("QOPS_LAB", "second")
    assert place.here() == Place("second", tmp_path / "qops/lab-second")
    monkeypatch.setenv("QOPS_LAB", "../x")
    with pytest.raises(LabError):
        place.here()


def test_the_lock_keeps_a_second_one_out_until_it_is_free(here: Place):
    said: list[str] = []
    with place.locked(here, said.append), pytest.raises(LabError, match="another qops lab"):
        place._open_locked(here, said.append, 0.1)
    assert said == ["waiting for another qops lab to finish"]
    with place.locked(here, said.append):
        threading.Timer(0.3, here.lock.unlink).start()  # as `down` does
        waiting = threading.Thread(target=lambda: place.locked(here, said.append, 5).__enter__())
        waiting.start()
    waiting.join(5)
    assert not waiting.is_alive()


def test_without_docker_the_command_that_brings_it_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LabError, match="no docker command here") as caught:
        Docker().require()
    assert "install" in caught.value.hint


@pytest.mark.parametrize(
    ("complaint", "message", "hint"),
    [
        ("permission denied while trying to connect", "you may not talk to", "usermod"),
        ("Cannot connect to the Docker daemon", "does not answer", "docker"),
    ],
)
def test_a_daemon_that_does_not_answer(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, complaint: str, message: str, hint: str
):
    fake = tmp_path / "docker"
    fake.write_text(f"#!/bin/sh\necho '{complaint}' >&2; exit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(LabError, match=message) as caught:
        Docker().require()
    assert hint in caught.value.hint
