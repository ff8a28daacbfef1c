"""When systemd is told to read units anew, and when it is not: with programs of the test's own in their place."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from playing import ROOT

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


# What has systemd reloaded, and the facts of plans that ask for it only where no container would lose its GPUs.
RELOADING = re.compile(
    r"daemon[-_]re(?:load|exec)|systemctl\W{1,4}(?:--\S+\W+)*(?:enable|disable|mask|preset|link|edit|revert)\b"
)
GUARDED = {
    "container_toolkit/tasks/apply.yml": "__container_toolkit_plan.facts.units",
    "inference_service/tasks/apply.yml": "__inference_service_plan.facts.reload",
}
# Started by the role for services that its plan lets change, which it does not while a container would lose GPUs.
GATES = {"inference_service/files/qops-serve/change.py"}


def _tasks(tasks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for task in tasks:
        yield task
        for part in ("block", "rescue", "always"):
            yield from _tasks(task.get(part, []))


def _reloads(task: dict[str, Any]) -> bool:
    module = next((v for k, v in task.items() if re.search(r"\.(systemd|systemd_service|service)$", k)), {})
    return bool({"daemon_reload", "daemon_reexec", "enabled", "masked"} & set(module)) or bool(
        RELOADING.search(yaml.safe_dump({k: v for k, v in task.items() if k != "name"}))
    )


def test_no_role_reloads_systemd_outside_the_guarded_way() -> None:
    found = {}
    for folder in ("tasks", "handlers"):
        for path in sorted((ROOT / "roles").glob(f"*/{folder}/*.yml")):
            for task in _tasks(yaml.safe_load(path.read_text()) or []):
                if _reloads(task):
                    found[str(path.relative_to(ROOT / "roles"))] = yaml.safe_dump(task)
    assert found.keys() == GUARDED.keys()
    assert all(fact in found[name] for name, fact in GUARDED.items())


def test_no_program_of_a_role_reloads_systemd() -> None:
    texts = {
        str(path.relative_to(ROOT / "roles")): re.sub(
            r"\s#[^\n]*|\"\"\".*?\"\"\"", "", path.read_text(), flags=re.DOTALL
        )
        for folder in ("files", "templates")
        for path in (ROOT / "roles").glob(f"*/{folder}/**/*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert {name for name, text in texts.items() if RELOADING.search(text)} == GATES


@pytest.mark.parametrize(
    "words",
    ["systemctl daemon-reload", '["systemctl", "enable", unit]', "systemctl --now disable x", "daemon_reload: true"],
)
def test_the_ways_to_reload_are_known(words: str) -> None:
    assert RELOADING.search(words)


@pytest.mark.parametrize("words", ["systemctl is-enabled x", "systemctl show", "systemctl restart enabler"])
def test_other_commands_are_no_reload(words: str) -> None:
    assert not RELOADING.search(words)
