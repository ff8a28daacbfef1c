"""When systemd is told to read units anew, and when it is not: with programs of the test's own in their place."""

import subprocess
from pathlib import Path

import pytest

from qops.bridge import units

GPUS, RUNTIME, CDI, PLAIN = "runc :\n", "nvidia \n", "runc cdi:\n", "runc \n"


def _run(folder: Path, state: str, containers: str, *paths: str) -> tuple[str, bool]:
    """Return what the script says, and whether it reloaded."""
    (folder / "systemctl").write_text(
        f'#!/bin/sh\ncase $1 in show) printf "{state}" ;; daemon-reload) touch {folder}/reloaded ;; esac\n'
    )
    shown = containers.replace("\n", "\\n")
    (folder / "docker").write_text(
        f'#!/bin/sh\ncase $1 in ps) [ -z "{containers.strip()}" ] || echo 4f1c ;; inspect) printf "{shown}" ;; esac\n'
    )
    for name in ("systemctl", "docker"):
        (folder / name).chmod(0o755)
    done = subprocess.run(
        ["sh", "-c", units.script(paths)],
        env={"PATH": f"{folder}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout, (folder / "reloaded").exists()


UNIT = "/etc/systemd/system/qops-x.service"
CHANGED, KNOWN = "LoadState=loaded\\nNeedDaemonReload=yes\\n", "LoadState=loaded\\nNeedDaemonReload=no\\n"


@pytest.mark.parametrize("containers", ["", PLAIN, CDI])
def test_a_unit_that_changed_is_read_where_nobody_loses_anything(tmp_path: Path, containers: str) -> None:
    said, reloaded = _run(tmp_path, CHANGED, containers, UNIT)
    assert (reloaded, units.pending(said)) == (True, [])


@pytest.mark.parametrize("containers", [GPUS, RUNTIME, CDI + GPUS])
def test_containers_keep_their_gpus(tmp_path: Path, containers: str) -> None:
    said, reloaded = _run(tmp_path, CHANGED, containers, UNIT)
    assert (reloaded, units.pending(said)) == (False, ["qops-x.service"])


def test_what_systemd_knows_is_not_read_again(tmp_path: Path) -> None:
    assert _run(tmp_path, KNOWN, "", UNIT) == ("", False)


def test_a_unit_that_could_not_be_loaded_is_read_again(tmp_path: Path) -> None:
    assert _run(tmp_path, "LoadState=error\\nNeedDaemonReload=no\\n", "", UNIT)[1]


def test_a_drop_in_counts_for_its_unit_and_other_files_for_none() -> None:
    script = units.script(["/etc/systemd/system/docker.service.d/10-qops.conf", "/etc/qops/x.conf"])
    assert "for unit in docker.service; do" in script
    assert units.script(["/etc/qops/x.service", "/etc/systemd/system/multi-user.target.wants"]) == ""
