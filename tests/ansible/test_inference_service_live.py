"""inference_service with the real engine on a practice host: from no service to an answer, and through its faults."""

import json
import os
import re
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playing import ansible_playbook
from practice_lab import Qops

pytestmark = [pytest.mark.lab, pytest.mark.slow]

HOST = "h200x2-1"
SECRET = "planted-Zq83-secret"
COMMAND = (
    "/opt/vllm/bin/vllm serve /opt/vllm/models/tiny-qwen3 --served-model-name tiny --enforce-eager"
    " --max-model-len 4096 --gpu-memory-utilization 0.2 --max-num-seqs 8 --shutdown-timeout 10"
)
# As the lab's own unit: no compiler, a small cache, and a hang that the engine itself does not end for an hour.
ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "OMP_NUM_THREADS": "1",
    "TORCHDYNAMO_DISABLE": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS": "3600",
}
START_S = 600  # half a minute on idle cores, minutes on busy ones


@pytest.fixture(scope="module", name="lab")
def host_with_an_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Qops]:
    if os.environ.get("QOPS_LAB_ENGINE") != "1":
        pytest.skip(
            "the real engine takes ten minutes and 8 GB; to run it: QOPS_LAB_ENGINE=1 script/test tests/ansible"
        )
    qops = Qops(tmp_path_factory.mktemp("state"), f"serve-{uuid.uuid4().hex[:8]}")
    try:
        build = qops.start("engine", "build")
        assert build.communicate(timeout=900) and build.returncode == 0
        qops("up", "h200x2")
        yield qops
    finally:
        qops("down")


def _instance(**more: Any) -> dict[str, Any]:
    return {
        "name": "tiny",
        "command": COMMAND,
        "port": 8010,
        "token_seconds": 10,
        "environment": ENVIRONMENT,
        **more,
    }


def _play(lab: Qops, folder: Path, *options: str, **variables: Any) -> tuple[int, str, int]:
    """Run site.yml for the role; return the status, the output and how many tasks changed something."""
    given = folder / "given.json"
    said = {
        "inference_service_instances": [_instance()],
        "inference_service_secrets": {"tiny": {"VLLM_API_KEY": SECRET}},
        "inference_service_wait": START_S,
        # Secrets of a test stand in plain text.
        "preflight_plain_secrets": True,
        **variables,
    }
    given.write_text(json.dumps(said))
    chosen = ("-l", HOST, "--tags", "inference_service", "-e", f"@{given}", "-vv", "--diff")
    status, output = ansible_playbook("site.yml", *chosen, *options, env=lab.environment, timeout=START_S + 300)
    assert SECRET not in output
    match = re.search(rf"^{HOST} +: ok=\d+ +changed=(\d+)", output, re.M)
    return status, " ".join(output.split()), int(match[1]) if match else -1


def _on(lab: Qops, command: str) -> str:
    return lab("ssh", HOST, "--", command).strip()


def _ready(lab: Qops, seconds: int = START_S) -> dict[str, Any]:
    status, out, err = lab.run("ssh", HOST, "--", f"qops-serve-ready tiny --wait {seconds} --json")
    assert out, f"{status} {err}"
    found: dict[str, Any] = json.loads(out)
    return found


def test_check_mode_on_a_bare_host_changes_nothing(lab: Qops, tmp_path: Path) -> None:
    status, output, changed = _play(lab, tmp_path, "--check")
    assert status == 0, output
    assert changed > 0 and "ExecStart=/opt/vllm/bin/vllm serve" in output
    assert _on(lab, "ls /etc/qops/serve 2>&1 || true").endswith("No such file or directory")


def test_from_no_service_to_an_answer_and_the_second_run_changes_nothing(lab: Qops, tmp_path: Path) -> None:
    status, output, changed = _play(lab, tmp_path)
    assert status == 0, output
    assert changed > 0 and "tiny: ready: tiny on port 8010 gave a token" in output
    asked = json.dumps({"model": "tiny", "max_tokens": 4, "messages": [{"role": "user", "content": "One?"}]})
    answer = _on(
        lab,
        f"curl -s localhost:8010/v1/chat/completions -H 'Authorization: Bearer {SECRET}'"
        f" -H 'Content-Type: application/json' -d '{asked}'",
    )
    assert json.loads(answer)["usage"]["completion_tokens"] > 0
    status, output, changed = _play(lab, tmp_path)
    assert (status, changed) == (0, 0), output


def test_the_secret_is_nowhere_but_with_root(lab: Qops) -> None:
    pattern = SECRET[:-1] + "[t]"  # so that no grep finds itself
    found = _on(lab, f"grep -rl '{pattern}' /etc /usr/local /var/lib/qops /run/qops || true").splitlines()
    assert sorted(found) == ["/etc/qops/serve/tiny.secret", "/run/qops/serve/tiny/secret"]
    assert _on(lab, f"stat -c %a {' '.join(found)}").split() == ["600", "600"]
    assert _on(lab, f"journalctl --no-pager | grep -c '{pattern}' || true") == "0"
    assert _on(lab, f"cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c '{pattern}' || true") == "0"
    assert _on(lab, f"systemctl show qops-serve-tiny | grep -c '{pattern}' || true") == "0"


def test_a_change_waits_until_a_restart_is_allowed(lab: Qops, tmp_path: Path) -> None:
    other = _instance(environment={**ENVIRONMENT, "OMP_NUM_THREADS": "2"})
    before = _on(lab, "systemctl show -p InvocationID qops-serve-tiny")
    status, output, changed = _play(lab, tmp_path, inference_service_instances=[other])
    assert (status, changed) == (0, 0), output
    assert "service tiny runs with other environment than the inventory says" in output
    assert _on(lab, "systemctl show -p InvocationID qops-serve-tiny") == before


def test_a_killed_engine_comes_back(lab: Qops) -> None:
    began = time.monotonic()
    _on(lab, "kill -9 $(pgrep -f [V]LLM::EngineCore)")
    while _on(lab, "systemctl show -p NRestarts --value qops-serve-tiny") == "0":
        assert time.monotonic() - began < 120
        time.sleep(1)
    assert _ready(lab)["state"] == "ready"


def test_a_stopped_engine_is_found_recorded_and_restarted(lab: Qops) -> None:
    pid = _on(lab, "pgrep -f [V]LLM::EngineCore")
    _on(lab, f"kill -STOP {pid}")
    assert _on(lab, "curl -s -o /dev/null -m 5 -w '%{http_code}' localhost:8010/health") == "200"
    began = time.monotonic()
    while _on(lab, "pgrep -f [V]LLM::EngineCore || true") == pid:
        assert time.monotonic() - began < 400, _on(lab, "journalctl -u qops-serve-watch@tiny --no-pager | tail")
        time.sleep(2)
    folder = _on(lab, "ls -1d /var/lib/qops/serve/tiny/incidents/2*")
    assert {"about.json", "processes.txt", "journal.txt", "metrics.txt"} <= set(_on(lab, f"ls {folder}").split())
    assert re.search(rf"^{pid} VLLM::EngineCor .*T \(stopped\)", _on(lab, f"cat {folder}/processes.txt"), re.M)
    assert _ready(lab)["state"] == "ready"


def test_a_start_that_took_the_machine_down_is_not_repeated(lab: Qops) -> None:
    _on(lab, "systemctl stop qops-serve-tiny; echo 11111111-2222 >/var/lib/qops/serve/tiny/starting")
    _on(lab, "systemctl start qops-serve-tiny; sleep 12")  # longer than RestartSec
    assert _on(lab, "systemctl is-active qops-serve-tiny || true") == "inactive"
    assert _ready(lab)["state"] == "held"


def test_a_taken_port_and_an_unknown_option_fail_clearly_and_without_a_loop(lab: Qops, tmp_path: Path) -> None:
    _on(lab, "rm /var/lib/qops/serve/tiny/starting /run/qops/serve/tiny/held")
    _on(lab, "systemd-run --unit taker python3 -m http.server 8010 --bind 127.0.0.1; sleep 1")
    status, output, _ = _play(lab, tmp_path)
    assert status != 0 and "port 8010 is taken by python3" in output
    _on(lab, "systemctl stop taker")
    wrong = _instance(command=COMMAND + " --no-such-flag 3")
    status, output, _ = _play(lab, tmp_path, inference_service_instances=[wrong])
    assert status != 0 and "vllm: error: unrecognized arguments: --no-such-flag 3" in output
    time.sleep(15)  # longer than RestartSec
    shown = _on(lab, "systemctl show -p ActiveState -p NRestarts -p ExecMainStatus --value qops-serve-tiny").split()
    assert shown == ["0", "2", "failed"]
