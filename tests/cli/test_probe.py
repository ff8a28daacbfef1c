"""`qops probe p2p`: attempts with a PyTorch that is none, whose ranks are real processes."""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from peer_probes import OFF, arm, probe
from scenes import quote

from qops.cli import probing, probing_p2p
from qops.cli.group import qops
from qops.errors import UsageError
from qops.evidence.container_engine import ContainerEngine, DockerInfo
from qops.evidence.gpu import DriverModule, Gpu, GpuProcess, Gpus, P2pPair, P2pStatus, Pair, Topology
from qops.evidence.gpu import Path as Way
from qops.evidence.kernel import System
from qops.evidence.peer_probe import Outcome
from qops.probes import peer_probe
from qops.probes.peer_probe import written

FAKE = str(Path(__file__).parent.parent / "fake_torch")


def _host(count: int = 2, **more: Any) -> dict[type, Any]:
    gpus = tuple(Gpu(n, quote("gpu"), name="NVIDIA H200", uuid=f"GPU-{n}", memory_used=1 << 20) for n in range(count))
    pairs = tuple(Pair(f"GPU{a}", f"GPU{b}", Way.PHB, quote("topo")) for a in range(count) for b in range(a + 1, count))
    seen: dict[type, Any] = {
        Gpus: Gpus(gpus, driver="580.65.06", processes=()),
        DriverModule: DriverModule("580.65.06", True, quote("d")),
        System: System("6.8.0-85", "x86_64", cpu_vendor="GenuineIntel"),
        Topology: Topology(pairs),
        P2pStatus: P2pStatus(tuple(P2pPair(p.a, p.b, "r", "OK", quote("p2p")) for p in pairs)),
    }
    return {**seen, **{type(value): value for value in more.values()}}


@pytest.fixture
def on(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let the host be one with such evidence, and its attempts be small."""
    monkeypatch.setenv("PYTHONPATH", FAKE)
    monkeypatch.setattr(probing, "SIZES", (64, 1024))

    def use(seen: dict[type, Any], **environment: str) -> None:
        monkeypatch.setattr(probing_p2p, "_seen", lambda quiet: ("rtx-7", seen))
        for name, value in environment.items():
            monkeypatch.setenv(name, value)

    return use


def _run(*words: str) -> Result:
    return CliRunner().invoke(qops, ["probe", "p2p", *words], standalone_mode=False)


def _said(done: Result) -> dict[str, Any]:
    assert done.exception is None, done.exception
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _left() -> list[str]:
    """Return the commands of the program's processes that still run."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            environment = (folder / "environ").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if "p2p_worker.py" in command and FAKE in environment and str(os.getpid()) in environment:
            found.append(command)
    return found


def test_peers_that_work(on: Callable[..., None], tmp_path: Path) -> None:
    on(_host(3))
    done = _run("--python", sys.executable, "-o", str(tmp_path / "p.json"), "--format", "json")
    said = _said(done)
    assert done.return_value == 0
    assert [(one["name"], one["outcome"]) for one in said["arms"]] == [("as is", "right"), ("off", "right")]
    groups = [(one["gpus"], one["transports"]) for one in said["arms"][0]["groups"]]
    assert groups == [([0, 1, 2], ["P2P/CUMEM"])] + [([a, b], ["P2P/CUMEM"]) for a, b in ((0, 1), (0, 2), (1, 2))]
    assert said["arms"][1]["environment"]["NCCL_P2P_DISABLE"].startswith("1")
    assert (said["driver"], said["nccl"], said["gpus"]) == ("580.65.06", "2.28.9", {"GPU-0": 0, "GPU-1": 1, "GPU-2": 2})
    assert (tmp_path / "p.json").read_text() == done.stdout


def test_pairs_that_nccl_leaves_out_are_tried_as_well(on: Callable[..., None], tmp_path: Path) -> None:
    on(_host(), FAKE_VIA="SHM/direct/direct", FAKE_WIDE="P2P/IPC")
    said = _said(_run("--python", sys.executable, "-o", str(tmp_path / "p.json"), "--format", "json"))
    assert [one["name"] for one in said["arms"]] == ["as is", "wide", "off"]
    assert said["arms"][1]["groups"][0]["transports"] == ["P2P/IPC"]


def test_where_the_driver_refuses_nothing_wider_is_tried(on: Callable[..., None], tmp_path: Path) -> None:
    refused = P2pStatus((P2pPair("GPU0", "GPU1", "r", "CNS", quote("p2p")),))
    on(_host(status=refused), FAKE_VIA="SHM/direct/direct")
    done = _run("--python", sys.executable, "-o", str(tmp_path / "p.json"))
    assert done.return_value == 0 and "not every pair uses peer-to-peer" in done.stdout
    assert "NCCL_P2P_LEVEL=SYS" not in done.stdout


def test_wrong_data_is_found_and_named(on: Callable[..., None], tmp_path: Path) -> None:
    on(_host(), FAKE_FAULT="wrong")
    done = _run("--python", sys.executable, "-o", str(tmp_path / "p.json"))
    assert done.return_value == 1
    assert "peer-to-peer between GPU 0-1 does not work: wrong data with it, right without it" in done.stdout
    assert "1 wrong elements of 0 KiB" in done.stdout


def test_a_hang_ends_with_its_time_and_leaves_nothing(on: Callable[..., None], tmp_path: Path) -> None:
    on(_host(), FAKE_FAULT="hang")
    done = _run("--python", sys.executable, "-o", str(tmp_path / "p.json"), "--limit", "10")
    assert done.return_value == 1 and "did not end with 0 KiB" in done.stdout
    assert "hung with it, right without it" in done.stdout
    assert _left() == []
    found = peer_probe.parse([_text((tmp_path / "p.json").read_text())])
    assert found is not None and [one.outcome for one in found.arms] == [Outcome.HUNG, Outcome.RIGHT]


def _text(content: str) -> Any:
    from judging import text

    return text(content, peer_probe.PLACE)


def test_ctrl_c_keeps_no_half_result_and_leaves_nothing(
    on: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on(_host(), FAKE_FAULT="hang")

    def wait(process: Any, begun: float, limit: float, told: Any) -> bool:
        time.sleep(2.0)
        raise KeyboardInterrupt

    monkeypatch.setattr(probing, "_wait", wait)
    done = _run("--python", sys.executable, "-o", str(tmp_path / "p.json"))
    assert done.return_value == 130 and "nothing is left running" in done.stdout
    assert not (tmp_path / "p.json").exists() and _left() == []


def test_a_rank_that_fails_ends_the_attempt_before_its_time(on: Callable[..., None], tmp_path: Path) -> None:
    on(_host(), FAKE_FAULT="fail")
    done = _run("--python", sys.executable, "-o", str(tmp_path / "p.json"), "--format", "json")
    (only,) = _said(done)["arms"]  # nothing is to be learned from more
    assert (only["outcome"], done.return_value) == ("failed", 3)
    assert "unhandled cuda error" in only["error"]
    assert _left() == []


@pytest.mark.parametrize(
    ("words", "seen", "why"),
    [
        ((), _host(), "the probe needs a PyTorch"),
        (("--image", "a", "--python", "b"), _host(), "two places to run in"),
        (("--python", "p", "--gpus", "0,x"), _host(), "--gpus cannot be '0,x'"),
        (("--python", "p", "--gpus", "0,7"), _host(), "there is no GPU 7"),
        (("--python", "p", "--gpus", "1"), _host(), "between two GPUs or more"),
        (("--python", "p", "-e", "lower=1"), _host(), "-e cannot be 'lower=1'"),
        (("--python", "p"), _host(1), "between two GPUs or more"),
        (("--python", "p"), {}, "nvidia-smi shows no GPU"),
        (("--python", "/no/such/python"), _host(), "cannot be started: No such file"),
        (("--image", "acme:1"), _host(), "a container gets no GPUs here: the container engine was not seen"),
    ],
)
def test_what_cannot_be_is_refused(
    on: Callable[..., None], words: tuple[str, ...], seen: dict[type, Any], why: str, tmp_path: Path
) -> None:
    on(seen)
    done = _run(*words, "-o", str(tmp_path / "p.json"))
    assert isinstance(done.exception, UsageError) and why in done.exception.message


def test_a_gpu_in_use_is_not_touched(on: Callable[..., None], tmp_path: Path) -> None:
    gpus = _host()[Gpus].gpus
    used = Gpus(gpus, processes=(GpuProcess(77, "GPU-1", "vllm", 1, quote("p")),))
    on(_host(used=used))
    done = _run("--python", sys.executable, "-o", str(tmp_path / "p.json"))
    assert isinstance(done.exception, UsageError) and done.exception.message == "GPU 1 is in use by vllm (pid 77)"
    full = Gpus((gpus[0], Gpu(1, quote("gpu"), uuid="GPU-1", memory_used=40 << 30)), processes=())
    on(_host(full=full))
    done = _run("--python", sys.executable, "-o", str(tmp_path / "p.json"))
    assert isinstance(done.exception, UsageError) and "holds 40960 MiB" in done.exception.message


def test_a_python_without_pytorch_is_said(on: Callable[..., None], tmp_path: Path) -> None:
    on(_host(), PYTHONPATH="")
    done = _run("--python", sys.executable, "-o", str(tmp_path / "p.json"))
    assert isinstance(done.exception, UsageError)
    assert "no torch: No module named 'torch'" in done.exception.message


def test_an_image_gets_its_gpus_and_is_removed(
    on: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docker = tmp_path / "docker"
    docker.write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/asked\ncase $1 in run) sleep 600 ;; esac\n')
    docker.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    engine = ContainerEngine(docker="/usr/bin/docker", active="active", info=DockerInfo("28.1", ("nvidia",)))
    on(_host(engine=engine))
    done = _run("--image", "acme/engine:7", "-o", str(tmp_path / "p.json"), "--limit", "10", "-e", "NCCL_ALGO=Ring")
    assert done.return_value == 3  # nothing was begun, so nothing is proved
    run, removed = (tmp_path / "asked").read_text().splitlines()[:2]
    assert '--gpus="device=0,1"' in run and "--network none" in run and "--env NCCL_ALGO=Ring" in run
    name = run.split("--name ")[1].split()[0]
    assert removed == f"rm --force {name}"


def test_a_prediction_starts_nothing(on: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    on(_host(3))
    monkeypatch.setattr(probing_p2p, "tried", lambda *a, **k: pytest.fail("it was started"))
    said = _said(_run("--predict", "--format", "json"))
    assert said["level"]["value"] == "PXB"
    assert [(p["path"], p["transport"]) for p in said["pairs"]] == [("PHB", "SHM")] * 3
    on(_host(2, probe=probe(arm("as is"), OFF, driver="580.65.06", gpus=("GPU-0", "GPU-1"))))
    assert "NCCL_P2P_LEVEL: PHB" in _run("--predict").stdout


def test_a_result_becomes_evidence_of_a_diagnosis(tmp_path: Path) -> None:
    (tmp_path / "p2p.json").write_text(written(probe(arm("as is", Outcome.WRONG), OFF)))
    done = CliRunner().invoke(
        qops, ["diagnose", "nccl", "--from", str(tmp_path / "p2p.json"), "--format", "json"], standalone_mode=False
    )
    assert done.exception is None
    assert json.loads(done.stdout)["hosts"][0]["findings"][0]["cause"] == "p2p-probe-failed"
