"""A practice host on which a stand-in for an engine is served and changed (standing_engine.py)."""

import json
import re
from pathlib import Path
from typing import Any

from playing import ROOT, ansible_playbook
from practice_lab import Qops

PORT = 8020
SECRET = "planted-Qx71-secret"
PROGRAM = "/opt/standing/vllm"


def service(command: str, *, name: str = "tiny", port: int = PORT, **more: Any) -> dict[str, Any]:
    """Return a service of the stand-in, started by the command, which is given port and name."""
    usual = {"name": name, "model": name, "port": port, "token_seconds": 5, "drain": 20, "gpus": []}
    return usual | {"command": f"{command} --port {port} --served-model-name {name}"} | more


class Host:
    """The practice host and what is played on it."""

    def __init__(self, lab: Qops, folder: Path, name: str) -> None:
        self.lab, self.folder, self.name = lab, folder, name

    def run(self, script: str) -> str:
        return self.lab("ssh", self.name, "--", script)

    def play(
        self, *options: str, book: str = "playbooks/serve.yml", says: str = "It is Paris.", **more: Any
    ) -> tuple[int, str]:
        """Have the service say something, by a playbook; return the status and the output."""
        chosen = self.chosen(*options, says=says, **more)
        status, output = ansible_playbook(book, *chosen, env=self.lab.environment, timeout=600)
        assert SECRET not in output
        return status, output

    def chosen(self, *options: str, says: str = "", **more: Any) -> tuple[str, ...]:
        """Return the arguments of a playbook."""
        command = more.pop("command", f"{PROGRAM} serve --says {json.dumps(says)}")
        given = {
            "inference_service_instances": [service(command, **more.pop("instance", {}))],
            "inference_service_secrets": {"tiny": {"VLLM_API_KEY": SECRET}},
            "inference_service_wait": 60,
            "preflight_manage": False,  # what it asks takes its time on a busy machine
            "preflight_plain_secrets": True,
            **more,
        }
        (self.folder / "given.json").write_text(json.dumps(given))
        tags = () if "--tags" in options else ("--tags", "inference_service")
        return ("-l", self.name, *tags, "-e", f"@{self.folder}/given.json", "-v", *options)

    def until(self, step: str) -> None:
        """Wait until a change is at a step, in the hands of its program."""
        self.run(
            f"for n in $(seq 1200); do pgrep -f '[s]erve change go' >/dev/null && grep -qs '\"{step}\"'"
            " /var/lib/qops/serve/tiny/change.json && exit; sleep 0.1; done; exit 1"
        )

    def until_over(self) -> None:
        """Wait until no change is under way, and a token comes."""
        self.run(
            "for n in $(seq 1200); do [ -e /var/lib/qops/serve/tiny/change.json ] || break; sleep 0.1; done;"
            " qops-serve-ready tiny --wait 60"
        )

    def answer(self, seconds: float = 0) -> str:
        """Ask the service as a client on the host does."""
        body = {"model": "tiny", "messages": [{"role": "user", "content": "Where?"}], "seconds": seconds}
        return self.run(
            f"curl -s -m 300 http://127.0.0.1:{PORT}/v1/chat/completions -H 'Content-Type: application/json'"
            f""" -H "Authorization: Bearer $(sed "s/.*='//; s/'$//" /etc/qops/serve/tiny.secret)" -d '{json.dumps(body)}'"""
        )

    def releases(self) -> list[str]:
        return self.run("qops-serve-change list tiny").splitlines()

    def unit(self) -> str:
        return self.run("systemctl show -P InvocationID qops-serve-tiny; systemctl cat qops-serve-tiny")

    def install(self) -> None:
        """Put the stand-in on the host."""
        engine = (ROOT / "tests/ansible/standing_engine.py").read_text()
        self.run(f"mkdir /opt/standing; cat >{PROGRAM} <<'END'\n{engine}\nEND\nchmod +x {PROGRAM}")


def changed(output: str, host: str) -> int:
    """Return how many tasks changed something on a host."""
    found = re.search(rf"^{host} +: ok=\d+ +changed=(\d+)", output, re.MULTILINE)
    assert found, output
    return int(found[1])
