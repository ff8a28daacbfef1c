"""`qops plan` as a person and a script meet it."""

import json
import os
import subprocess
import sys
from pathlib import Path

QOPS = [sys.executable, "-m", "qops"]


def _plan(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*QOPS, "plan", *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def _root(folder: Path) -> dict[str, str]:
    """Return the environment in which this machine's kernel settings are others."""
    swappiness = folder / "root/proc/sys/vm/swappiness"
    swappiness.parent.mkdir(parents=True)
    swappiness.write_text("33\n")
    return {"QOPS_ROOT": str(folder / "root")}


def test_a_host_without_gpus_is_told_so_and_nothing_is_made_up(tmp_path: Path) -> None:
    done = _plan("--role", "host_tuning", "-q", **_root(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "! no NVIDIA GPU was seen" in done.stdout
    assert "vm.swappiness" not in done.stdout


def test_the_same_as_json(tmp_path: Path) -> None:
    done = _plan("--role", "host_tuning", "--format", "json", "-q", **_root(tmp_path))
    (host,) = json.loads(done.stdout)["hosts"]
    (role,) = host["roles"]
    assert (host["hardware_class"], role["role"], role["settings"]) == ("unknown", "host_tuning", [])
    assert "Set qops_hardware_class" in role["stops"][0]


def test_roles_and_hosts_that_do_not_exist_are_named() -> None:
    done = _plan("--role", "toaster")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no role is called 'toaster'" in done.stderr and "host_tuning" in done.stderr
    done = _plan("spark-1")
    assert done.returncode == 2
    assert "add -i INVENTORY" in done.stderr


def test_a_host_that_cannot_be_reached_is_said_and_counts(tmp_path: Path) -> None:
    inventory = tmp_path / "hosts.yml"
    inventory.write_text("all:\n  hosts:\n    nowhere: {ansible_host: 127.0.0.1, ansible_port: 9}\n")
    done = _plan("-i", str(inventory), "-q")
    assert done.returncode == 4
    assert "nowhere: " in done.stdout
