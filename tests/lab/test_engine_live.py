"""The real engine on a practice host: started, asked, broken, diagnosed over SSH, and mended."""

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from practice_lab import Qops

pytestmark = [pytest.mark.lab, pytest.mark.slow]

HOST = "h200x2-1"
BREAK_S = 900  # a start of the engine takes half a minute on idle cores, and minutes on busy ones


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Qops]:
    """A lab with the host h200x2-1, whose engine serves with two ranks."""
    if os.environ.get("QOPS_LAB_ENGINE") != "1":
        pytest.skip("the real engine takes ten minutes and 8 GB; to run it: QOPS_LAB_ENGINE=1 script/test tests/lab")
    qops = Qops(tmp_path_factory.mktemp("state"), f"test-{uuid.uuid4().hex[:8]}")
    try:
        patient(qops, "engine", "build")
        qops("up", "h200x2")
        patient(qops, "engine", "start", HOST, "--tp", "2")
        yield qops
    finally:
        qops("down")


def patient(qops: Qops, *arguments: str) -> str:
    process = qops.start(*arguments)
    out, err = process.communicate(timeout=BREAK_S)
    assert process.returncode == 0, f"{' '.join(arguments)}\n{out}\n{err}"
    return out


def on(qops: Qops, command: str) -> str:
    return qops("ssh", HOST, "--", command).strip()


def diagnosed(qops: Qops, folder: Path) -> dict[str, object]:
    """Return what `qops diagnose` says of the host over SSH."""
    inventory = folder / "lab.yml"
    inventory.write_text(qops("inventory"))
    code = "from qops.cli import main; main()"
    asked = [sys.executable, "-c", code, "diagnose", "-i", str(inventory), "-l", HOST, "--format", "json"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False, env=qops.environment, timeout=120)
    (host,) = json.loads(done.stdout)["hosts"]
    return dict(host)


def root_cause(host: dict[str, object]) -> tuple[str, str]:
    findings = host["findings"]
    assert isinstance(findings, list)
    return findings[0]["cause"], findings[0]["subject"]


def test_the_endpoints_are_the_engines_own(engine: Qops) -> None:
    assert on(engine, "curl -s -w '%{http_code}' localhost:8000/health") == "200"
    (model,) = json.loads(on(engine, "curl -s localhost:8000/v1/models"))["data"]
    assert (model["id"], model["owned_by"]) == ("tiny", "vllm")
    answer = json.loads(on(engine, "qops-lab-engine ask 6"))
    assert answer["usage"]["completion_tokens"] == 6
    assert "vllm:generation_tokens_total" in on(engine, "curl -s localhost:8000/metrics")
    assert json.loads(engine("engine", "status", "--format", "json"))["engines"][0]["state"] == "serving"


def test_each_rank_holds_its_gpu_and_the_unit_says_what_it_is(engine: Qops) -> None:
    shown = on(engine, "nvidia-smi --query-compute-apps=process_name --format=csv,noheader").splitlines()
    assert shown == ["VLLM::Worker_TP0", "VLLM::Worker_TP1"]
    assert "qops-lab engine" in on(engine, "systemctl show -p Description vllm")


def test_a_stopped_rank_is_named_and_mended(engine: Qops, tmp_path: Path) -> None:
    patient(engine, "break", "rank-stopped", HOST)
    assert on(engine, "curl -s -w '%{http_code}' localhost:8000/health") == "200"
    assert json.loads(engine("engine", "status", "--format", "json"))["engines"][0]["state"] == "silent"
    pid = on(engine, "pgrep -f '^VLLM::Worker_TP1'")
    host = diagnosed(engine, tmp_path)
    assert host["verdict"] == "fault"
    assert root_cause(host) == ("rank-stopped", f"rank 1 (pid {pid}, GPU 1)")
    patient(engine, "mend", HOST)
    assert json.loads(on(engine, "qops-lab-engine ask 4"))["usage"]["completion_tokens"] == 4
    assert diagnosed(engine, tmp_path)["verdict"] == "healthy"


@pytest.mark.parametrize("cause", ["engine-bad-flag", "kv-cache-too-small", "engine-model-not-found", "port-in-use"])
def test_a_start_that_fails_is_explained_by_the_engines_own_log(engine: Qops, tmp_path: Path, cause: str) -> None:
    patient(engine, "break", cause, HOST)
    host = diagnosed(engine, tmp_path)
    assert (host["verdict"], root_cause(host)[0]) == ("fault", cause)
    patient(engine, "mend", HOST)
    assert json.loads(on(engine, "qops-lab-engine ask 4"))["usage"]["completion_tokens"] == 4
