"""What holds for every role, and what its templates write for each hardware class."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from playing import HOSTS, ROOT, facts, play

from qops import bridge
from qops.rule import Fix
from qops.rules import ALL as RULES

ROLES = sorted(path.parent for path in (ROOT / "roles").glob("*/meta"))
GOLDENS = Path(__file__).parent / "goldens"
LONGEST_TASK_FILE = 60  # lines
every_role = pytest.mark.parametrize("role", ROLES, ids=lambda r: r.name)


def _yaml(path: Path) -> dict:  # type: ignore[type-arg]
    return yaml.safe_load(path.read_text(encoding="utf-8")) or {}


@every_role
def test_defaults_are_the_argument_specs(role: Path) -> None:
    options = _yaml(role / "meta/argument_specs.yml")["argument_specs"]["main"]["options"]
    assert _yaml(role / "defaults/main.yml") == {name: option["default"] for name, option in options.items()}
    assert all(option["description"] and option["type"] for option in options.values())


@every_role
def test_variables_bear_the_roles_name(role: Path) -> None:
    assert [n for n in _yaml(role / "defaults/main.yml") if not n.startswith(f"{role.name}_")] == []
    assert [n for n in _yaml(role / "vars/main.yml") if not n.startswith(f"__{role.name}_")] == []


@every_role
def test_a_role_can_be_switched_off(role: Path) -> None:
    assert _yaml(role / "defaults/main.yml")[f"{role.name}_manage"] is True


@every_role
def test_task_files_are_short(role: Path) -> None:
    long = {
        p.name: n for p in (role / "tasks").glob("*.yml") if (n := len(p.read_text().splitlines())) > LONGEST_TASK_FILE
    }
    assert long == {}


@every_role
def test_only_builtin_modules_are_used(role: Path) -> None:
    def names(tasks: list) -> list[str]:  # type: ignore[type-arg]
        inner = [name for task in tasks for part in ("block", "rescue", "always") for name in names(task.get(part, []))]
        return inner + [key for task in tasks for key in task if "." in key]

    used = [name for path in (role / "tasks").glob("*.yml") for name in names(_yaml(path))]  # type: ignore[arg-type]
    assert [name for name in used if not name.startswith("ansible.builtin.")] == []


@pytest.mark.parametrize("fix", [pytest.param(f, id=f"{r.code}-{f.variable}") for r in RULES for f in r.fix if f.tag])
def test_a_fix_names_a_variable_and_a_tag_that_exist(fix: Fix) -> None:
    assert fix.variable in _yaml(ROOT / "roles" / fix.tag / "defaults/main.yml")


@every_role
def test_what_a_role_promises_exists(role: Path) -> None:
    known = {rule.code: rule for rule in RULES}
    promised = _yaml(role / "vars/main.yml").get(f"__{role.name}_rules", [])
    assert set(promised) <= set(known)


@every_role
def test_the_plan_has_the_roles_defaults(role: Path) -> None:
    made = {f"{role.name}_{name}": value for name, value in bridge.role_plan(role.name).defaults.items()}
    assert made == _yaml(role / "defaults/main.yml")


def test_the_readmes_are_current() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "script/generate_role_docs.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module", name="rendered")
def render_for_each_class(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Render host_tuning's templates for each class, by Ansible's own lookup and in one run."""
    folder = tmp_path_factory.mktemp("rendered")
    plans = {name: bridge.planned("host_tuning", bridge.evidence(facts(name)), {}) for name in HOSTS}
    pieces = [
        f"'{hardware}/{template.stem}': "
        f"lookup('ansible.builtin.template', '{template}', template_vars={{'__host_tuning_plan': plans.{hardware}}})"
        for hardware in HOSTS
        for template in sorted((ROOT / "roles/host_tuning/templates").iterdir())
    ]
    content = "{{ {" + ", ".join(pieces) + "} | to_json }}"
    copy = {"content": content, "dest": str(folder / "all.json"), "mode": "0600"}
    status, output = play(folder, [{"name": "Render", "ansible.builtin.copy": copy}], {"plans": plans})
    assert status == 0, output
    loaded: dict[str, str] = json.loads((folder / "all.json").read_text(encoding="utf-8"))
    return loaded


@pytest.mark.parametrize("hardware", HOSTS)
@pytest.mark.parametrize("name", ["sysctl.conf", "host-tuning.conf", "memlock.conf"])
def test_what_is_written_for_a_class(rendered: dict[str, str], hardware: str, name: str) -> None:
    golden = GOLDENS / hardware / name
    written = rendered[f"{hardware}/{name}"]
    if os.environ.get("QOPS_UPDATE_GOLDENS"):
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(written, encoding="utf-8")
    assert written == golden.read_text(encoding="utf-8")


def test_the_watchdog_of_a_spark(rendered: dict[str, str]) -> None:
    assert rendered["spark/watchdog.conf"].endswith("[Manager]\nRuntimeWatchdogSec=60s\n")
    assert rendered["spark/earlyoom"].endswith('EARLYOOM_ARGS="-m 2 -s 80 -r 3600"\n')


def _settle(tmp_path: Path, lines: str, files: dict[str, str]) -> tuple[subprocess.CompletedProcess[str], Path]:
    """Run the script that the unit runs, on a tree of its own."""
    for name, content in files.items():
        target = tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content)
    config = tmp_path / "host-tuning.conf"
    config.write_text(lines)
    script = (ROOT / "roles/host_tuning/files/qops-host-tuning.sh").read_text()
    script = script.replace("/etc/qops/host-tuning.conf", str(config))
    done = subprocess.run(
        ["sh", "-c", script],
        env={"QOPS_ROOT": str(tmp_path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done, tmp_path


def test_the_script_writes_what_differs_and_leaves_the_rest(tmp_path: Path) -> None:
    lines = "# why\n\n/sys/cpu[0-9]*/governor performance\n/proc/sys/vm/swappiness 1\n/sys/thp madvise\n"
    files = {
        "sys/cpu0/governor": "powersave\n",
        "sys/cpu11/governor": "performance\n",
        "proc/sys/vm/swappiness": "60\n",
        "sys/thp": "always [madvise] never\n",
    }
    done, root = _settle(tmp_path, lines, files)
    assert done.returncode == 0, done.stderr
    assert (root / "sys/cpu0/governor").read_text() == "performance\n"
    assert (root / "proc/sys/vm/swappiness").read_text() == "1\n"
    assert (root / "sys/thp").read_text() == "always [madvise] never\n"  # it is so already
    assert len(done.stdout.splitlines()) == 2


def test_the_script_says_what_the_kernel_does_not_have_and_does_the_rest(tmp_path: Path) -> None:
    done, root = _settle(tmp_path, "/sys/none 1\n/sys/there 2\n", {"sys/there": "1\n"})
    assert done.returncode == 1
    assert "/sys/none: this kernel does not have it" in done.stderr
    assert (root / "sys/there").read_text() == "2\n"


def test_a_value_that_is_part_of_another_is_not_the_value(tmp_path: Path) -> None:
    done, root = _settle(tmp_path, "/sys/a 1\n", {"sys/a": "10\n"})
    assert (done.returncode, (root / "sys/a").read_text()) == (0, "1\n")


@pytest.mark.parametrize("program", sorted((ROOT / "roles").glob("*/files/*/__main__.py")), ids=lambda p: p.parent.name)
def test_every_file_of_a_program_is_placed_on_the_host(program: Path) -> None:
    folder, role = program.parent, program.parents[2]
    placed = "".join(path.read_text() for path in sorted(role.glob("[tv]a*/*.yml")))
    whole = f"files/{folder.name}" in placed  # the folder as one archive
    missing = [p.name for p in folder.glob("*.py") if f"{folder.name}/{p.name}" not in placed]
    assert whole or missing == []
