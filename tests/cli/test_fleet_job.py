"""A job over two hosts, of real processes, one of which is stopped: hosts are sshds with process numbers of their own."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from loopback import Sshd, free_port, need_sshd

from qops.cli.run import run
from qops.errors import FAULT
from qops.lab import sim
from qops.transports.ssh import Ssh

JOB = Path(sim.__file__).parent / "bin" / "qops-lab-job"
OWN = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")


def _missing() -> str:
    if os.geteuid() != 0 or subprocess.run([*OWN, "true"], capture_output=True, check=False).returncode != 0:
        return "this needs the right to make namespaces: run it as root"
    return "" if _address() else "this machine has no address but loopback"


def _address() -> str:
    done = subprocess.run(["hostname", "-I"], capture_output=True, text=True, check=False)
    return next((one for one in done.stdout.split() if "." in one), "")


pytestmark = [need_sshd, pytest.mark.slow, pytest.mark.skipif(bool(_missing()), reason=_missing() or "-")]


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[list[Sshd]]:
    servers = [Sshd(tmp_path / name, within=OWN) for name in ("gpu-1", "gpu-2")]
    yield servers
    for server in servers:
        server.stop()


def there(server: Sshd, script: str) -> str:
    host = Ssh(server.host)
    done = host.run(("sh", "-c", script), timeout=30)
    host.stop()
    assert done.status == 0, done
    return done.stdout.decode()


def test_one_cause_is_named_with_the_host_and_the_rank(
    pair: list[Sshd], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    port = free_port()
    for rank, server in enumerate(pair):
        words = f"--nnodes 2 --node-rank {rank} --master-addr {_address()} --master-port {port}"
        there(server, f"setsid {sys.executable} {JOB} {words} >{tmp_path}/rank{rank} 2>&1 &")
    for rank, server in enumerate(pair):
        there(server, f"for i in $(seq 100); do grep -q sums {tmp_path}/rank{rank} && exit; sleep 0.2; done; exit 1")
    there(pair[1], "pkill -STOP -f '^VLLM::Worker_TP1'")
    inventory = tmp_path / "hosts.ini"
    inventory.write_text("".join(map(Sshd.entry, pair, ("gpu-1", "gpu-2"))))
    assert run(["diagnose", "nccl", "-i", str(inventory), "--seconds", "30", "--format", "json"]) == FAULT
    report = json.loads(capsys.readouterr().out)
    (job,) = report["jobs"]
    assert (job["hosts"], job["reason"]) == (["gpu-1", "gpu-2"], "rank-stopped on gpu-2")
    assert job["findings"][0]["finding"]["subject"].startswith("rank 1 (pid ")
    assert [len([f for f in host["findings"] if f["role"] == "cause"]) for host in report["hosts"]] == [0, 1]
