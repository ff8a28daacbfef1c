"""site.yml on practice hosts: a Spark and a workstation, over real SSH."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playing import ansible_playbook
from practice_lab import Qops, practice

pytestmark = pytest.mark.lab
SWAPPINESS = "cat $QOPS_ROOT/proc/sys/vm/swappiness"
GOVERNORS = "sort -u $QOPS_ROOT/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"
HUGEPAGES = "cat $QOPS_ROOT/sys/kernel/mm/transparent_hugepage/enabled"


@pytest.fixture(scope="module", name="lab")
def two_hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Qops]:
    with practice(tmp_path_factory.mktemp("state"), "site", "spark", "rtx5090") as lab:
        yield lab


def _play(lab: Qops, *options: str, book: str = "site.yml") -> tuple[int, str]:
    return ansible_playbook(book, *options, env=lab.environment, timeout=400)


def _changed(output: str) -> dict[str, int]:
    return {host: int(n) for host, n in re.findall(r"^(\S+) +: ok=\d+ +changed=(\d+)", output, re.M)}


def _on(lab: Qops, host: str, command: str) -> str:
    return lab("ssh", host, "--", command).strip()


def test_check_mode_on_bare_hosts_passes_and_changes_nothing(lab: Qops) -> None:
    status, output = _play(lab, "-l", "lab", "--check", "--diff")
    assert status == 0, output
    assert "+vm.swappiness = 10" in output
    assert _on(lab, "rtx5090-1", SWAPPINESS) == "60"
    assert _on(lab, "rtx5090-1", "ls /etc/qops 2>&1 || true").endswith("No such file or directory")


def test_the_first_run_sets_and_the_second_changes_nothing(lab: Qops) -> None:
    status, output = _play(lab, "-l", "lab")
    assert status == 0, output
    assert set(_changed(output)) == {"spark-1", "rtx5090-1"}
    assert all(_changed(output).values())
    assert "kernel.sched_migration_cost_ns not set, this host does not have it" in " ".join(output.split())
    assert _on(lab, "rtx5090-1", SWAPPINESS) == "10"
    assert _on(lab, "rtx5090-1", GOVERNORS) == "performance"
    assert _on(lab, "rtx5090-1", HUGEPAGES) == "always [madvise] never"
    assert _on(lab, "spark-1", GOVERNORS) == "schedutil"  # a Spark's stays
    status, output = _play(lab, "-l", "lab")
    assert (status, _changed(output)) == (0, {"spark-1": 0, "rtx5090-1": 0}), output


@pytest.mark.parametrize("family", ["host", "all"])
def test_what_was_provisioned_is_healthy(lab: Qops, family: str, tmp_path: Path) -> None:
    """Whatever a host logs while it is set up, and afterwards, is known to be no fault."""
    inventory = tmp_path / "lab.yml"
    inventory.write_text(lab("inventory"))
    done = subprocess.run(
        [sys.executable, "-m", "qops", "diagnose", family, "-i", inventory, "--seconds", "60", "--format", "json"],
        capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    told = {host["host"]: (host["verdict"], host["reason"]) for host in json.loads(done.stdout)["hosts"]}
    assert {host: verdict for host, (verdict, _) in told.items()} == {"spark-1": "healthy", "rtx5090-1": "healthy"}, (
        told
    )
    assert done.returncode == 0


def test_a_printed_inventory_is_whole_by_itself(lab: Qops, tmp_path: Path) -> None:
    printed = tmp_path / "lab.yml"
    printed.write_text(lab("inventory"))
    status, output = _play(lab, "-i", str(printed), "-l", "rtx5090-1")
    assert (status, _changed(output)) == (0, {"rtx5090-1": 0}), output


def test_a_limit_reaches_only_its_class(lab: Qops) -> None:
    status, output = _play(lab, "-l", "spark", "--check")
    assert (status, set(_changed(output))) == (0, {"spark-1"}), output


def test_it_lasts_over_a_reboot(lab: Qops) -> None:
    boot = "cat /proc/sys/kernel/random/boot_id"
    before = _on(lab, "rtx5090-1", boot)
    lab.run("ssh", "rtx5090-1", "--", "systemctl reboot")
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        status, out, _ = lab.run("ssh", "rtx5090-1", "--", f"{boot}; systemctl is-system-running --wait")
        if status == 0 and before not in out:
            break
        time.sleep(1)
    assert _on(lab, "rtx5090-1", GOVERNORS) == "performance"
    assert _on(lab, "rtx5090-1", SWAPPINESS) == "10"
    assert _on(lab, "rtx5090-1", HUGEPAGES) == "always [madvise] never"
    status, output = _play(lab, "-l", "rtx5090", book="playbooks/verify.yml")
    assert status == 0, output


def test_drift_fails_the_verification_and_the_next_run_mends_it(lab: Qops) -> None:
    _on(lab, "rtx5090-1", "echo 60 >$QOPS_ROOT/proc/sys/vm/swappiness")
    status, output = _play(lab, "-l", "rtx5090", book="playbooks/verify.yml")
    assert status == 2
    assert "HST061 swappiness-too-high: vm.swappiness is 60 and should be 10" in " ".join(output.split())
    status, output = _play(lab, "-l", "rtx5090", "--tags", "host_tuning")  # as the finding's fix says
    assert (status, _changed(output)) == (0, {"rtx5090-1": 1}), output
    assert _on(lab, "rtx5090-1", SWAPPINESS) == "10"


def test_what_the_inventory_chooses_wins_and_is_no_finding(lab: Qops) -> None:
    chosen = ("-e", "host_tuning_swappiness=60", "-e", "host_tuning_governor=leave")
    status, output = _play(lab, "-l", "rtx5090", *chosen)
    assert status == 0, output
    assert _on(lab, "rtx5090-1", SWAPPINESS) == "60"
    assert _on(lab, "rtx5090-1", GOVERNORS) == "performance"  # as it was


def test_a_host_of_unknown_class_is_refused_and_left_alone(lab: Qops) -> None:
    status, output = _play(lab, "-l", "rtx5090", "-e", "qops_hardware_class=unknown")
    assert status == 2
    assert "Set qops_hardware_class for this host" in " ".join(output.split())
    assert _changed(output) == {"rtx5090-1": 0}
