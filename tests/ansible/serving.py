"""A practice host with the real engines, which the role inference_service serves with, and how long each thing takes."""

import contextlib
import json
import os
import re
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from playing import ansible_playbook
from practice_lab import Qops

HOST = "h200x2-1"
SECRET = "planted-Zq83-secret"
START_S = 1500  # half a minute on idle cores; ten minutes were too few on two that thirty processes wanted
BUILD_S = 1500
VLLM = (
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


def instance(**more: Any) -> dict[str, Any]:
    """Return the service `tiny`: vLLM as a program of the host, unless `more` says otherwise."""
    usual = {"name": "tiny", "command": VLLM, "port": 8010, "token_seconds": 10, "environment": ENVIRONMENT}
    return usual | more


class Serving:
    """The lab, the role on its host, and a clock."""

    def __init__(self, lab: Qops, host: str = HOST) -> None:
        self.lab, self.host = lab, host
        self.given: dict[str, Any] = {
            "inference_service_instances": [instance()],
            "inference_service_secrets": {"tiny": {"VLLM_API_KEY": SECRET}},
            "inference_service_wait": START_S,
            # Secrets of a test stand in plain text.
            "preflight_plain_secrets": True,
        }

    def play(
        self, folder: Path, *options: str, tags: str = "inference_service", book: str = "site.yml", **variables: Any
    ) -> tuple[int, str, int]:
        """Run a playbook; return the status, the output and how many tasks changed something."""
        status, output = self.lines(folder, *options, tags=tags, book=book, **variables)
        match = re.search(rf"^{self.host} +: ok=\d+ +changed=(\d+)", output, re.M)
        return status, " ".join(output.split()), int(match[1]) if match else -1

    def lines(
        self, folder: Path, *options: str, tags: str = "inference_service", book: str = "site.yml", **variables: Any
    ) -> tuple[int, str]:
        """Run a playbook; return the status and the output as it stands."""
        given = folder / "given.json"
        given.write_text(json.dumps(self.given | variables))
        chosen = ("-l", self.host, "--tags", tags, "-e", f"@{given}", "-v", "--diff", *options)
        status, output = ansible_playbook(book, *chosen, env=self.lab.environment, timeout=START_S + 600)
        assert SECRET not in output
        return status, output

    def on(self, command: str) -> str:
        """Run a command on the host; return what it printed."""
        out: str = self.lab("ssh", self.host, "--", command)
        return out.strip()

    def ready(self, seconds: int = START_S, name: str = "tiny") -> dict[str, Any]:
        """Return what `qops-serve-ready` says once it is over."""
        status, out, err = self.lab.run("ssh", self.host, "--", f"qops-serve-ready {name} --wait {seconds} --json")
        assert out, f"{status} {err}"
        found: dict[str, Any] = json.loads(out)
        return found

    def ask(self, *, key: str = SECRET, port: int = 8010, path: str = "chat/completions", seconds: int = 60) -> str:
        """Send a chat completion from the host; return the status and the body."""
        asked = json.dumps({"model": "tiny", "max_tokens": 4, "messages": [{"role": "user", "content": "One?"}]})
        return self.on(
            f"curl -s -m {seconds} -w '%{{http_code}}' localhost:{port}/v1/{path} -H 'Authorization: Bearer {key}'"
            f" -H 'Content-Type: application/json' -d '{asked}' || true"
        )

    def long_request(self, *, tokens: int, port: int = 8010) -> Callable[[], int]:
        """Begin a request of many tokens on the host; return what waits for it and says how many came."""
        asked = json.dumps({"model": "tiny", "prompt": "One", "max_tokens": tokens, "ignore_eos": True})
        self.on(
            f"cd /run; rm -f answer; echo '{asked}' >asked; systemd-run -q --unit asker curl -s"
            f" -m 300 -o /run/answer localhost:{port}/v1/completions -H 'Authorization: Bearer {SECRET}'"
            " -H 'Content-Type: application/json' -d @/run/asked; sleep 3"
        )

        def came() -> int:
            self.on("while systemctl -q is-active asker; do sleep 0.5; done")
            usage = json.loads(self.on("cat /run/answer")).get("usage") or {}
            return int(usage.get("completion_tokens", 0))

        return came

    def state(self, name: str = "tiny") -> Mapping[str, str]:
        """Return what systemd says of the unit."""
        names = "ActiveState,SubState,NRestarts,ExecMainStatus,Result,InvocationID"
        shown = self.on(f"systemctl show -p {names} qops-serve-{name}")
        return dict(line.split("=", 1) for line in shown.splitlines() if "=" in line)

    def back(self, invocation: str, began: float, seconds: int = START_S) -> float:
        """Wait until the unit runs anew and gives a token; return the seconds since `began`."""
        self.until_other(invocation)
        assert self.ready(seconds)["state"] == "ready"
        return time.monotonic() - began

    def reboot(self) -> None:
        """Reboot the host, and wait until it answers."""
        boot = "cat /proc/sys/kernel/random/boot_id"
        before, began = self.on(boot), time.monotonic()
        self.lab.run("ssh", self.host, "--", "systemctl reboot")
        while (now := self.lab.run("ssh", self.host, "--", boot))[0] != 0 or before in now[1]:
            assert time.monotonic() - began < 120
            time.sleep(1)

    def until_other(self, invocation: str, name: str = "tiny", seconds: float = START_S) -> None:
        """Wait until the unit runs anew."""
        began = time.monotonic()
        while self.state(name).get("InvocationID") in (invocation, "", None):
            assert time.monotonic() - began < seconds, self.on(f"journalctl -u qops-serve-{name} -n 30 --no-pager")
            time.sleep(0.5)


@contextlib.contextmanager
def engine_lab(state: Path, engine: str, *scenarios: str) -> Iterator[Qops]:
    """A lab whose hosts have an engine; skips unless it is asked for."""
    if os.environ.get("QOPS_LAB_ENGINE") != "1":
        pytest.skip(
            "the real engine takes ten minutes and 8 GB; to run it: QOPS_LAB_ENGINE=1 script/test tests/ansible"
        )
    lab = Qops(state, f"serve-{uuid.uuid4().hex[:8]}")
    try:
        build = lab.start("engine", "build", engine)
        assert build.communicate(timeout=BUILD_S) and build.returncode == 0
        lab("up", *scenarios)
        yield lab
    finally:
        lab("down")


def rows(output: str, host: str) -> Sequence[str]:
    """Return the tasks that changed something on a host, or would, in the order of the output."""
    task, found = "", []
    for line in output.splitlines():
        if match := re.match(r"TASK \[(.*)\]", line):
            task = match[1]
        elif re.match(rf"changed: \[{host}\]", line) and task not in found:
            found.append(task)
    return found


def undone(output: str) -> str:
    """Return what the gate says of a change that it undid."""
    told = re.search(
        r"runs with what it ran with before; the change was undone: (.*?\(\d+ s without service\))", output
    )
    assert told, output[-3000:]
    return f"the run fails, and what served before serves again: {told[1]}"
