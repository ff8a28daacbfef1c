"""qops-serve, the programs that inference_service places on a host, against an engine and a systemd of the test's."""

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
INVOCATION = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"
# `show` prints what the test wrote; everything else is written down.
SYSTEMCTL = """#!/bin/sh
[ "$1" = show ] && exec cat "$FAKE/unit"
echo "systemctl $*" >>"$FAKE/log"
"""
# Who asks why an engine ended (`-o cat`) asks for no run before that: for a time, or for the invocation.
JOURNAL = """#!/bin/sh
case "$*" in *--since=@*|*_SYSTEMD_INVOCATION_ID=*|*short-iso*) exec cat "$FAKE/journal" 2>/dev/null ;; esac
echo "Error: of an older run"
"""


class Host:
    """A service's description and folders, and the tools that its programs call."""

    def __init__(self, folder: Path, engine: FakeEngine) -> None:
        self.folder, self.engine = folder, engine
        for name, script in (("systemctl", SYSTEMCTL), ("journalctl", JOURNAL)):
            tool = folder / "bin" / name
            tool.parent.mkdir(exist_ok=True)
            tool.write_text(script)
            tool.chmod(0o755)
        self.unit()
        self.describe()

    def describe(self, **more: Any) -> None:
        said = {
            "name": "tiny",
            "unit": "qops-serve-tiny.service",
            "port": self.engine.port,
            "model": "tiny",
            "state": str(self.folder / "state"),
            "run": str(self.folder / "run"),
            "token_seconds": 1,
            "device_seconds": 1,
            **more,
        }
        (self.folder / "tiny.json").write_text(json.dumps(said))

    def unit(self, active: str = "active", sub: str = "running", invocation: str = INVOCATION, **more: str) -> None:
        # The test itself listens on the port, so it is put into the unit.
        group = self.folder / "root/sys/fs/cgroup/system.slice/tiny/cgroup.procs"
        group.parent.mkdir(parents=True, exist_ok=True)
        group.write_text(f"{os.getpid()}\n")
        lines = {
            "ActiveState": active,
            "SubState": sub,
            "InvocationID": invocation,
            "ControlGroup": "/system.slice/tiny",
            "NRestarts": "0",
            **more,
        }
        (self.folder / "unit").write_text("".join(f"{k}={v}\n" for k, v in lines.items()))

    def run(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-IB", str(PROGRAM), *words],
            env={
                "PATH": f"{self.folder}/bin:/usr/bin:/bin",
                "FAKE": str(self.folder),
                "QOPS_ROOT": str(self.folder / "root"),
                **environment,
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def ready(self, *words: str) -> tuple[int, str, str]:
        done = self.run("ready", str(self.folder / "tiny.json"), "--json", *words)
        assert done.stdout, done.stderr
        said = json.loads(done.stdout)
        return done.returncode, said["state"], said["detail"]

    def watch(self) -> str:
        done = self.run("watch", str(self.folder / "tiny.json"))
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self, step: str, **environment: str) -> tuple[int, str]:
        done = self.run("start", step, str(self.folder / "tiny.json"), **environment)
        return done.returncode, done.stdout

    def did(self) -> list[str]:
        log = self.folder / "log"
        return log.read_text().splitlines() if log.exists() else []


@pytest.fixture(name="engine")
def engine_that_answers() -> Iterator[FakeEngine]:
    with FakeEngine() as engine:
        yield engine


@pytest.fixture(name="host")
def host_of_it(tmp_path: Path, engine: FakeEngine) -> Host:
    return Host(tmp_path, engine)


def _as_root() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may see whose a socket is")


def test_a_token_makes_it_ready(host: Host) -> None:
    status, state, detail = host.ready()
    assert (status, state) == (0, "ready"), detail
    assert "gave a token in" in detail


def test_a_model_without_a_chat_template_is_asked_for_text(host: Host, engine: FakeEngine) -> None:
    engine.mode = "no-template"
    assert host.ready()[:2] == (0, "ready")
    assert engine.asked[-1] == "/v1/completions"


@pytest.mark.parametrize(
    ("mode", "status", "state", "words"),
    [
        ("hang", 3, "silent", "no token in 1 s"),
        ("dead", 3, "silent", "/v1/models: silent"),
        ("loading", 3, "silent", "503"),
        ("draining", 3, "silent", "cannot schedule new futures"),
        ("refuses", 1, "refused", "400 no chat template"),
    ],
)
def test_what_is_not_ready(host: Host, engine: FakeEngine, mode: str, status: int, state: str, words: str) -> None:
    engine.mode = mode
    found = host.ready()
    assert found[:2] == (status, state) and words in found[2]


def test_another_model_on_the_port(host: Host, engine: FakeEngine) -> None:
    engine.model = "whale"
    assert host.ready("--wait", "30") == (1, "wrong-model", f"port {engine.port} serves whale, and not tiny")


def test_another_program_on_the_port_is_named_and_not_waited_for(host: Host, engine: FakeEngine) -> None:
    _as_root()
    host.unit(ControlGroup="/no-such-group")
    status, state, detail = host.ready("--wait", "30")
    assert (status, state) == (1, "other")
    assert detail.startswith(f"port {engine.port} is taken by another program: ") and str(os.getpid()) in detail


def test_a_port_on_which_nothing_listens_yet(host: Host) -> None:
    with FakeEngine() as gone:
        port = gone.port
    host.describe(port=port)
    assert host.ready() == (3, "starting", f"nothing listens on port {port} yet")


def test_the_key_is_read_from_the_secrets(host: Host, engine: FakeEngine, tmp_path: Path) -> None:
    engine.key = "k-1"
    assert host.ready()[:2] == (1, "refused")
    secret = tmp_path / "tiny.secret"
    secret.write_text("HF_TOKEN='x'\nVLLM_API_KEY='k-1'\n")
    host.describe(secret=str(secret), key="VLLM_API_KEY")
    assert host.ready()[:2] == (0, "ready")
    host.start("begin")
    assert (tmp_path / "run/secret").stat().st_mode & 0o777 == 0o600
    secret.write_text("VLLM_API_KEY='k-2'\n")  # in force after a restart
    assert host.ready()[:2] == (0, "ready")


def test_a_unit_that_failed_says_why(host: Host, tmp_path: Path) -> None:
    host.unit("failed", "failed", Result="exit-code", ExecMainStatus="2")
    (tmp_path / "journal").write_text(
        "usage: vllm serve\nvllm: error: unrecognized arguments: --no-such 3\nMain process exited, status=2\n"
    )
    status, state, detail = host.ready("--wait", "30")
    assert (status, state) == (1, "failed")
    assert detail == (
        "the unit failed (exit-code, status 2); its log says: vllm: error: unrecognized arguments: --no-such 3"
    )


def test_what_was_wrong_may_stand_on_the_next_line(host: Host, tmp_path: Path) -> None:
    host.unit("failed", "failed", Result="exit-code", ExecMainStatus="1")
    (tmp_path / "journal").write_text("OSError: cannot load whale:\n  401 Unauthorized for url\nsee the manual\n")
    assert host.ready()[2].endswith("its log says: OSError: cannot load whale: 401 Unauthorized for url")


def test_a_unit_between_two_starts_is_waited_for(host: Host) -> None:
    host.unit("activating", "auto-restart")
    assert host.ready() == (3, "starting", "it ended, and is started again")


def test_ready_is_remembered_and_ends_the_fail_safe(host: Host, tmp_path: Path) -> None:
    _as_root()
    assert host.start("begin") == (0, "")
    assert (tmp_path / "state/starting").exists()
    assert host.ready()[1] == "ready"
    assert not (tmp_path / "state/starting").exists()
    assert (tmp_path / "run/ready").read_text() == INVOCATION


def test_a_start_that_took_the_machine_down_is_not_repeated(host: Host, tmp_path: Path) -> None:
    _as_root()
    assert host.start("begin")[0] == 0
    assert host.start("begin")[0] == 0  # the same boot: the engine ended, and starts again
    marker = tmp_path / "state/starting"
    marker.write_text("11111111-2222-3333-4444-555555555555 2026-01-02T03:04:05+0000\n")
    status, told = host.start("begin")
    assert status == 1 and "the machine went down while this service started at 2026-01-02T03:04:05" in told
    host.unit("inactive", "dead")
    assert host.ready("--wait", "30")[1] == "held"
    assert host.start("end", SERVICE_RESULT="exec-condition")[0] == 0
    assert marker.exists()
    status, told = host.start("allow")
    assert status == 0 and not marker.exists()
    assert host.did() == ["systemctl start --no-block qops-serve-tiny.service"]
    assert host.start("begin")[0] == 0


def test_a_clean_stop_ends_the_fail_safe(host: Host, tmp_path: Path) -> None:
    host.start("begin")
    assert host.start("end", SERVICE_RESULT="success")[0] == 0
    assert not (tmp_path / "state/starting").exists()


def test_without_the_fail_safe_there_is_no_marker(host: Host, tmp_path: Path) -> None:
    host.describe(fail_safe=False)
    assert host.start("begin")[0] == 0
    assert not (tmp_path / "state/starting").exists()


def test_a_disk_that_takes_nothing_keeps_no_service_down(host: Host) -> None:
    host.describe(state="/dev/null/full")
    status, told = host.start("begin")
    assert status == 0 and "so this start is not marked" in told


def test_a_start_that_cannot_be_begun_is_tried_again_and_not_skipped_for_good(host: Host, tmp_path: Path) -> None:
    (tmp_path / "tiny.json").write_text("{half")
    done = host.run("start", "begin", str(tmp_path / "tiny.json"))
    assert done.returncode == 255 and "cannot be read" in done.stderr
    host.describe(run="/dev/null/full")
    assert host.start("begin")[0] == 255


def test_a_start_notes_what_it_takes(host: Host, tmp_path: Path) -> None:
    (tmp_path / "tiny.env").write_text("A=1\n")
    host.describe(files=[str(tmp_path / "tiny.env"), str(tmp_path / "none")])
    host.start("begin")
    first, second = (tmp_path / "run/started").read_text().splitlines()
    assert first.endswith(f" {tmp_path}/tiny.env") and second == f"- {tmp_path}/none"


def test_a_taken_port_keeps_the_engine_from_starting(host: Host, engine: FakeEngine) -> None:
    status, told = host.start("check")
    assert status == 1 and f"port {engine.port} is taken by another program" in told


def test_devices_are_asked_and_not_the_order_of_units(host: Host, tmp_path: Path) -> None:
    root = tmp_path / "root"
    host.describe(port=1, gpus=["0", "1"], gpus_by="cdi")
    assert "/dev/nvidiactl is not there" in host.start("check")[1]
    (root / "dev").mkdir()
    for node in ("nvidiactl", "nvidia-uvm"):
        (root / "dev" / node).touch()
    smi, ctk = (tmp_path / "bin" / name for name in ("nvidia-smi", "nvidia-ctk"))
    smi.write_text("#!/bin/sh\necho 'GPU 0: NVIDIA H200 (UUID: GPU-1)'\n")
    smi.chmod(0o755)
    assert "does not list GPU 1" in host.start("check")[1]
    smi.write_text("#!/bin/sh\nprintf 'GPU 0: NVIDIA H200 (UUID: GPU-1)\\nGPU 1: NVIDIA H200 (UUID: GPU-2)\\n'\n")
    ctk.write_text("#!/bin/sh\necho nvidia.com/gpu=0\n")
    ctk.chmod(0o755)
    assert "names no nvidia.com/gpu=1" in host.start("check")[1]
    ctk.write_text("#!/bin/sh\nprintf 'nvidia.com/gpu=0\\nnvidia.com/gpu=1\\n'\n")
    assert host.start("check") == (0, "")


def test_a_hung_driver_does_not_hang_the_check(host: Host, tmp_path: Path) -> None:
    root = tmp_path / "root/dev"
    root.mkdir()
    for node in ("nvidiactl", "nvidia-uvm"):
        (root / node).touch()
    smi = tmp_path / "bin/nvidia-smi"
    smi.write_text("#!/bin/sh\nsleep 30\n")
    smi.chmod(0o755)
    host.describe(port=1, gpus=["0"])
    assert "no end after 10 s" in host.start("check")[1]


def test_a_hung_engine_is_recorded_and_restarted_at_the_third_look(
    host: Host, engine: FakeEngine, tmp_path: Path
) -> None:
    _as_root()
    (tmp_path / "journal").write_text("the last line of the engine\n")
    assert host.watch() == ""
    engine.mode = "hang"
    assert "look 1 of 3" in host.watch()
    assert "look 2 of 3" in host.watch()
    assert host.did() == []
    told = host.watch()
    assert "hangs; what it did is in" in told
    assert host.did() == ["systemctl kill --signal=SIGKILL -- qops-serve-tiny.service"]
    (folder,) = (tmp_path / "state/incidents").iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    about = json.loads((folder / "about.json").read_text())
    assert os.getpid() in about["processes"] and "no token" in about["why"]
    assert "the last line of the engine" in (folder / "journal.txt").read_text()
    assert "vllm:generation_tokens_total" in (folder / "metrics.txt").read_text()
    assert f"{os.getpid()} " in (folder / "processes.txt").read_text()


def test_a_hung_engine_is_restarted_though_nothing_can_be_kept_of_it(host: Host, engine: FakeEngine) -> None:
    _as_root()
    host.watch()
    host.describe(state="/dev/null/full")
    engine.mode = "hang"
    told = [host.watch() for _ in range(3)]
    assert "what it did cannot be kept (Not a directory), and now it is restarted" in told[2]
    assert host.did() == ["systemctl kill --signal=SIGKILL -- qops-serve-tiny.service"]


def test_a_busy_engine_is_left_alone(host: Host, engine: FakeEngine) -> None:
    _as_root()
    host.watch()
    engine.mode = "hang"
    for _ in range(5):
        host.watch()
        engine.tokens += 7  # others get theirs
    assert host.did() == []


def test_an_engine_that_loads_is_left_alone_and_recorded_once_when_it_takes_very_long(
    host: Host, engine: FakeEngine, tmp_path: Path
) -> None:
    engine.mode = "hang"
    host.unit(ActiveEnterTimestampMonotonic="1000000")
    host.describe(load_seconds=10**9)
    assert [host.watch() for _ in range(4)] == [""] * 4
    host.describe(load_seconds=1)
    assert "not ready after" in host.watch()
    assert host.watch() == ""
    assert host.did() == []
    assert len(list((tmp_path / "state/incidents").iterdir())) == 1


def test_a_new_start_is_counted_anew(host: Host, engine: FakeEngine) -> None:
    _as_root()
    host.watch()
    engine.mode = "hang"
    host.watch()
    host.watch()
    host.unit(invocation="f" * 32)
    host.watch()
    assert host.did() == []


def test_restarts_are_bounded(host: Host, engine: FakeEngine) -> None:
    _as_root()
    host.describe(failures=1, restarts=2)
    told = []
    for _ in range(4):
        engine.mode = "well"
        host.watch()
        engine.mode = "hang"
        told.append(host.watch())
    assert len(host.did()) == 2
    assert "not restarted: restarted 2 times in an hour already" in told[2]


def test_an_engine_that_answers_without_a_token_is_told_once(host: Host, engine: FakeEngine) -> None:
    _as_root()
    host.watch()
    engine.mode = "refuses"
    assert "it answers without a token" in host.watch()
    assert host.watch() == ""
    assert host.did() == []


def test_a_service_that_is_not_there(host: Host) -> None:
    done = host.run("ready", "no-such")
    assert (done.returncode, done.stdout) == (1, "")
    assert "there is no service no-such" in done.stderr
    assert host.run("ready", "../x").returncode == 1
    assert host.run("nonsense").returncode == 2
    assert host.run("ready", "tiny", "--wait", "soon").returncode == 1
