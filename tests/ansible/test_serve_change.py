"""qops-serve-change, the gate for changes of a service, against an engine and a systemd of the test's."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_engine import FakeEngine
from playing import ROOT

PROGRAM = ROOT / "roles/inference_service/files/qops-serve"
SECRET = "planted-Lk55-secret"
# A start takes the environment that is in place; one that says so ends the engine. At its call number $KILL it kills
# who called it.
SYSTEMCTL = """#!/bin/sh
if [ -n "$KILL" ]; then
  n=$(cat "$FAKE/calls" 2>/dev/null || echo 0)
  echo $((n + 1)) >"$FAKE/calls"
  if [ "$n" = "$KILL" ]; then kill -9 $PPID; exit; fi
fi
for unit; do :; done
name=${unit#qops-serve-}
name=${name%.service}
case $1 in
show)
  case $2 in *NeedDaemonReload) echo no ;; *) cat "$FAKE/$name.unit" ;; esac ;;
stop)
  echo ActiveState=inactive >"$FAKE/$name.unit" ;;
start|restart)
  unset KILL
  "$PYTHON" -IB "$PROGRAM" start begin "$FAKE/$name.json" || exit
  cp "$FAKE/$name.env" "$FAKE/$name.running"
  if grep -q dies "$FAKE/$name.env"; then
    printf 'ActiveState=failed\\nResult=exit-code\\nExecMainStatus=2\\n' >"$FAKE/$name.unit"
  else
    invocation=$(tr -d - </proc/sys/kernel/random/uuid)
    printf 'ActiveState=active\\nSubState=running\\nInvocationID=%s\\nControlGroup=/tiny\\n' $invocation >"$FAKE/$name.unit"
  fi ;;
esac
"""
DOCKER = """#!/bin/sh
case "$1 $2" in
"image inspect") cat "$FAKE/image" ;;
"image tag") echo "$3" >"$FAKE/image" ;;
esac
"""


class Engine(FakeEngine):
    """Says what the environment says that the service was started with."""

    def __init__(self, started: Path) -> None:
        super().__init__()
        self.started = started

    def answer(self, path: str) -> tuple[int, Any] | None:
        found = super().answer(path)
        if "chat" not in path or found is None or found[0] != 200:
            return found
        said = self.started.read_text().partition("=")[2].strip()
        if said == "refuses":
            return 400, {"error": {"message": "the chat template cannot be rendered"}}
        return 200, {"choices": [{"message": {"content": said}}], "usage": {"completion_tokens": 3}}


class Host:
    """A service, "tiny" unless told otherwise, whose environment is all that it starts with."""

    def __init__(self, folder: Path, engine: FakeEngine, name: str = "tiny") -> None:
        self.folder, self.engine, self.name = folder, engine, name
        (folder / "bin").mkdir(exist_ok=True)
        for tool, script in (("systemctl", SYSTEMCTL), ("docker", DOCKER), ("journalctl", "#!/bin/sh\n")):
            (folder / "bin" / tool).write_text(script)
            (folder / "bin" / tool).chmod(0o755)
        group = folder / "root/sys/fs/cgroup/tiny/cgroup.procs"
        group.parent.mkdir(parents=True, exist_ok=True)
        group.write_text(f"{os.getpid()}\n")
        (folder / f"{name}.unit").write_text("ActiveState=inactive\n")
        self.path = folder / f"{name}.json"
        self.write("It is Paris.")
        self.systemctl("start")
        assert self.run("ready", str(self.path)).returncode == 0

    def write(self, says: str, **more: Any) -> None:
        """Put other files in place, as Ansible does."""
        (self.folder / f"{self.name}.env").write_text(f"SAYS={says}\n")
        said = {
            "name": self.name,
            "unit": f"qops-serve-{self.name}.service",
            "port": self.engine.port,
            "model": "tiny",
            "files": [str(self.folder / f"{self.name}.env")],
            "state": str(self.folder / f"{self.name}.state"),
            "run": str(self.folder / f"{self.name}.run"),
            "token_seconds": 5,
            **more,
        }
        self.path.write_text(json.dumps(said))

    def run(self, *words: str, kill: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-IB", str(PROGRAM), *words],
            env=self.environment | {"KILL": kill},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PATH": f"{self.folder}/bin:/usr/bin:/bin",
            "FAKE": str(self.folder),
            "PROGRAM": str(PROGRAM),
            "PYTHON": sys.executable,
            "QOPS_ROOT": str(self.folder / "root"),
        }

    def systemctl(self, verb: str) -> None:
        command = [f"{self.folder}/bin/systemctl", verb, f"qops-serve-{self.name}.service"]
        subprocess.run(command, env=self.environment, check=True, timeout=60)

    def change(self, says: str, kill: str = "", **more: Any) -> tuple[int, str]:
        """Change what the service says; return the status and the output of the gate."""
        assert self.run("change", "begin", str(self.path), "--by", "a test").returncode == 0
        self.write(says, **more)
        done = self.run("change", "go", str(self.path), "--wait", "30", kill=kill)
        return done.returncode, done.stdout + done.stderr

    def watch(self) -> str:
        """Look as the timer does, after the patience with a change that has begun is over."""
        under_way = self.state / "change.json"
        if under_way.exists():
            under_way.write_text(json.dumps(json.loads(under_way.read_text()) | {"until": 0}))
        done = self.run("watch", str(self.path))
        assert done.returncode == 0, done.stderr
        return done.stdout

    def releases(self) -> list[str]:
        done = self.run("change", "list", str(self.path))
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    @property
    def state(self) -> Path:
        return self.folder / f"{self.name}.state"

    @property
    def placed(self) -> str:
        return (self.folder / f"{self.name}.env").read_text()

    @property
    def serves(self) -> str:
        """What the service says, which must be up."""
        assert "ActiveState=active" in (self.folder / f"{self.name}.unit").read_text()
        return (self.folder / f"{self.name}.running").read_text()


pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root may change services")
OLD, NEW = "SAYS=It is Paris.\n", "SAYS=Paris it is.\n"


@pytest.fixture(name="host")
def host_that_serves(tmp_path: Path) -> Iterator[Host]:
    with Engine(tmp_path / "tiny.running") as engine:
        yield Host(tmp_path, engine)


def test_a_first_start_is_a_release(host: Host) -> None:
    (only,) = host.releases()
    assert only.startswith("tiny 2") and only.endswith("  in force, good")


def test_a_change_that_serves_stays(host: Host) -> None:
    status, output = host.change("Paris it is.")
    assert status == 0, output
    assert output.endswith(" s without service)\n") and "tiny runs with what is new" in output
    assert "was 'It is Paris.', and is 'Paris it is.' now" in output
    assert host.serves == host.placed == NEW
    first, second = host.releases()
    assert first.endswith("  good") and second.endswith("  in force, good, by a test")
    assert sorted(path.name for path in host.state.iterdir()) == ["last-change.json", "releases"]


@pytest.mark.parametrize(
    ("says", "more", "why"),
    [
        ("dies", {}, "the unit failed (exit-code, status 2)"),
        ("refuses", {}, "got 400 the chat template cannot be rendered"),
        ("ja " * 20, {}, "says the same over and over"),
        ("Paris it is.", {"smoke": [{"prompt": "Where?", "contains": "Rome"}]}, "does not contain 'Rome'"),
        ("Paris it is.", {"smoke": [{"prompt": "Where?", "matches": "^Rome"}]}, "does not match '^Rome'"),
        ("Paris it is.", {"needs": ["/no/such/model"]}, "/no/such/model is not on this host"),
    ],
)
def test_a_change_that_does_not_serve_is_undone(host: Host, says: str, more: dict[str, Any], why: str) -> None:
    status, output = host.change(says, **more)
    assert status == 1
    assert why in output.splitlines()[-1] and "the change was undone" in output
    assert host.serves == host.placed == OLD
    first, second = host.releases()
    assert first.endswith("  in force, good") and "  undone: " in second and why in second
    if "needs" not in more:
        (incident,) = (host.state / "incidents").iterdir()
        assert why in json.loads((incident / "about.json").read_text())["why"]


def test_noise_that_differs_is_told_and_not_judged(host: Host) -> None:
    host.change("qua lumo wex")
    status, output = host.change("zin pol arg")
    assert status == 0 and "was 'qua lumo wex', and is 'zin pol arg' now" in output


def test_a_change_that_is_killed_anywhere_is_undone(tmp_path: Path) -> None:
    killed = 0
    for call in range(40):
        folder = tmp_path / str(call)
        folder.mkdir()
        with Engine(folder / "tiny.running") as engine:
            host = Host(folder, engine)
            status, _ = host.change("dies", kill=str(call))
            if status != -9:
                break
            killed += 1
            host.watch()
            assert host.serves == host.placed == OLD, call
            assert not (host.state / "change.json").exists()
    assert killed > 8


def test_a_machine_that_went_down_starts_with_what_was_before(host: Host) -> None:
    host.change("Paris it is.", kill="4")
    under_way = json.loads((host.state / "change.json").read_text())
    assert under_way["step"] == "stopped"
    (host.state / "change.json").write_text(json.dumps(under_way | {"boot": "another"}))
    host.write("Paris it is.")
    begun = host.run("start", "begin", str(host.path))
    assert begun.returncode == 255 and "the machine went down during a change" in begun.stdout  # systemd tries again
    assert host.placed == OLD
    assert host.run("start", "begin", str(host.path)).returncode == 0
    host.systemctl("start")
    assert host.serves == OLD and host.watch() == ""


def test_what_began_and_changed_nothing_restarts_nothing(host: Host) -> None:
    (host.folder / "tiny.run/release").write_text("docker did not say which image")
    host.run("change", "begin", str(host.path))
    before = (host.folder / "tiny.unit").read_text()
    assert host.watch() == "" and not (host.state / "change.json").exists()
    assert (host.folder / "tiny.unit").read_text() == before


def test_an_engine_that_took_files_that_nobody_judged_is_started_again(host: Host) -> None:
    host.run("change", "begin", str(host.path))
    host.write("Paris it is.")
    host.systemctl("start")  # it ended by itself meanwhile
    assert "and it is started with them" in host.watch()
    assert host.serves == host.placed == OLD


def test_files_that_were_written_and_never_used_are_put_back(host: Host) -> None:
    host.run("change", "begin", str(host.path))
    host.write("Paris it is.")
    assert host.run("watch", str(host.path)).stdout == ""  # Ansible may yet go on
    assert host.placed == NEW
    assert "was broken off; its files are those of release" in host.watch()
    assert host.placed == host.serves == OLD
    gone = host.run("change", "go", str(host.path))
    assert gone.returncode == 1 and "no change of tiny has begun" in gone.stderr


def test_a_secret_goes_back_with_its_change_and_is_in_no_release(host: Host) -> None:
    secret = host.folder / "tiny.secret"
    secret.write_text(f"K='{SECRET}'\n")
    more = {"secret": str(secret), "files": [str(host.folder / "tiny.env"), str(secret)]}
    assert host.change("Paris it is.", **more)[0] == 0
    assert host.run("change", "begin", str(host.path)).returncode == 0
    assert (host.state / "change.secret").stat().st_mode & 0o777 == 0o600
    secret.write_text("K='another'\n")
    host.write("dies", **more)
    done = host.run("change", "go", str(host.path), "--wait", "30")
    assert done.returncode == 1 and SECRET not in done.stdout + done.stderr
    assert SECRET in secret.read_text() and host.serves == NEW
    holding = [path for path in host.state.rglob("*") if path.is_file() and SECRET in path.read_text()]
    assert holding == []


def test_a_secret_alone_that_does_not_serve_leaves_its_release_good(host: Host) -> None:
    host.engine.key = "right"
    secret = host.folder / "tiny.secret"
    secret.write_text("VLLM_API_KEY='right'\n")
    files = [str(host.folder / "tiny.env"), str(secret)]
    more = {"secret": str(secret), "key": "VLLM_API_KEY", "files": files}
    assert host.change("Paris it is.", **more)[0] == 0
    host.run("change", "begin", str(host.path))
    secret.write_text("VLLM_API_KEY='wrong'\n")
    done = host.run("change", "go", str(host.path), "--wait", "30")
    assert done.returncode == 1 and "the engine wants another key" in done.stdout
    assert "right" in secret.read_text() and host.releases()[-1].endswith("  in force, good, by a test")


def test_a_moved_tag_is_a_change_and_moves_back(host: Host) -> None:
    (host.folder / "image").write_text("sha256:1111\n")
    more = {"runtime": "docker", "container": "qops-serve-tiny", "image": "qops.local/engine:current"}
    assert host.change("Paris it is.", **more)[0] == 0
    (host.folder / "image").write_text("sha256:2222\n")
    # The engine in the new image dies, whatever the environment says.
    status, _ = host.change("dies", **more)
    assert status == 1
    assert (host.folder / "image").read_text() == "sha256:1111\n" and host.serves == NEW
    assert "image sha256:1111" in next(line for line in host.releases() if "in force" in line)


def test_a_change_that_came_to_nothing_is_called_off_and_the_next_one_has_its_image(host: Host) -> None:
    (host.folder / "image").write_text("sha256:1111\n")
    more = {"runtime": "docker", "container": "qops-serve-tiny", "image": "qops.local/engine:current"}
    assert host.change("Paris it is.", **more)[0] == 0
    host.run("change", "begin", str(host.path))
    (host.folder / "image").write_text("sha256:2222\n")  # it was pulled
    assert host.run("change", "off", str(host.path)).returncode == 0
    assert not (host.state / "change.json").exists()
    assert (host.folder / "image").read_text() == "sha256:2222\n"
    # The same when nobody called the one before off.
    host.run("change", "begin", str(host.path))
    assert host.change("Paris it is.", **more)[0] == 0
    assert (host.folder / "image").read_text() == "sha256:2222\n"
    assert "image sha256:2222" in next(line for line in host.releases() if "in force" in line)
    assert host.run("change", "off", str(host.path)).returncode == 0  # nothing is under way


def test_an_earlier_release_comes_back_when_it_is_asked_for(host: Host) -> None:
    none = host.run("change", "back", str(host.path), "--to", "previous")
    assert none.returncode == 1 and "there is no release 'previous' to go back to" in none.stderr
    host.change("Paris it is.")
    assert host.run("change", "back", str(host.path), "--to", "previous").returncode == 0
    assert host.serves == host.placed == OLD
    newer = host.releases()[-1].split()[1]
    assert host.run("change", "back", str(host.path), "--to", newer).returncode == 0
    assert host.serves == NEW
    again = host.run("change", "back", str(host.path), "--to", newer)
    assert again.returncode == 0 and "in force already" in again.stdout


def test_as_many_releases_are_kept_as_was_said_and_the_one_in_force(host: Host) -> None:
    for number in range(5):
        assert host.change(f"It is {number}.", keep=2)[0] == 0
    assert len(host.releases()) == 3


def test_the_first_failure_leaves_the_others_alone(tmp_path: Path) -> None:
    with Engine(tmp_path / "tiny.running") as one, Engine(tmp_path / "whale.running") as other:
        tiny, whale = Host(tmp_path, one), Host(tmp_path, other, "whale")
        paths = [str(tiny.path), str(whale.path)]
        assert tiny.run("change", "begin", *paths).returncode == 0
        tiny.write("dies")
        whale.write("Paris it is.")
        done = tiny.run("change", "go", *paths, "--wait", "30")
        assert done.returncode == 1 and "whale: not tried" in done.stdout
        assert tiny.serves == whale.serves == whale.placed == OLD


def test_two_changes_at_once_are_refused(host: Host) -> None:
    host.run("change", "begin", str(host.path))
    host.write("Paris it is.")
    lock = host.folder / "tiny.run/change.lock"
    holder = subprocess.Popen(["flock", str(lock), "-c", "echo held; read x"], stdin=-1, stdout=-1, text=True)
    assert holder.stdout and holder.stdout.readline() == "held\n"
    done = host.run("change", "go", str(host.path))
    assert done.returncode == 1 and "is under way; it ends by itself" in done.stderr
    assert host.watch() == "" and host.placed == NEW
    holder.communicate("\n")
    holder.wait()
