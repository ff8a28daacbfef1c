"""`qops diagnose cuda --image` as people and scripts meet it."""

import json
from pathlib import Path

import image_trees as made
import pytest
from click.testing import CliRunner, Result

from qops.cli.group import qops
from qops.errors import QopsError, UsageError

HOST = Path(__file__).parent.parent / "hosts/live2-idle.tar.gz"  # two H200, driver 580.159.04


@pytest.fixture
def archive(tmp_path: Path) -> str:
    path = tmp_path / "image.tar"
    path.write_bytes(made.saved([made.tree(made.ENGINE, made.LINKS)], made.config("CUDA_VERSION=13.0.1")))
    return str(path)


def _run(*words: str) -> tuple[Result, dict]:  # type: ignore[type-arg]
    done = CliRunner().invoke(qops, ["diagnose", "cuda", "--format", "json", *words], standalone_mode=False)
    if isinstance(done.exception, QopsError):
        raise done.exception
    assert done.exception is None, done.exception
    return done, json.loads(done.stdout)["hosts"][0]


def test_an_image_for_a_gpu_that_is_not_here(archive: str) -> None:
    done, host = _run("--image", archive, "--gpu", "RTX 3090", "--driver", "580.126.09")
    assert done.return_value == 1
    codes = {f["code"] for f in host["findings"]}
    assert codes == {"CUD060", "CUD062"}  # vllm has nothing for 8.6, and a driver 550 lies in it


def test_an_image_for_a_recorded_host(archive: str) -> None:
    _, host = _run("--image", archive, "--from", str(HOST))
    assert "image-without-code-for-gpu" in {one["cause"] for one in host["ruled_out"]}
    assert host["coverage"]["rules"] == 7  # those about images alone


def test_images_that_would_run_are_named(tmp_path: Path) -> None:
    path = tmp_path / "old.tar"
    files = {f"{made.PACKAGES}/torch/lib/libtorch_cuda.so": made.library("sm_80", "sm_90")}
    path.write_bytes(made.saved([made.tree(files)], made.config("CUDA_VERSION=12.8.1")))
    for gpu in ("RTX 5090", "sm_120", "NVIDIA RTX PRO 6000 Blackwell Server Edition"):
        _, host = _run("--image", str(path), "--gpu", gpu, "--driver", "580.126.09")
        (finding,) = host["findings"]
        assert finding["cause"] == "image-without-code-for-gpu"
        assert "images for such a GPU: " in finding["message"] and "vllm" in finding["message"]


def test_forward_compatibility_is_refused_for_a_board_by_its_short_name(tmp_path: Path) -> None:
    path = tmp_path / "new.tar"
    path.write_bytes(made.saved([made.tree(made.ENGINE)], made.config("CUDA_VERSION=13.0.1")))
    _, host = _run("--image", str(path), "--gpu", "RTX 5090", "--driver", "570.172.08", "--select", "CUD061")
    assert "error 804" in host["findings"][0]["message"]


def test_what_is_asked_wrongly_is_said_before_the_image_is_read() -> None:
    with pytest.raises(UsageError, match="no GPU is known as 'Voodoo 2'"):
        _run("--image", "/nonexistent.tar", "--gpu", "Voodoo 2")
    with pytest.raises(UsageError, match="what an image is judged for"):
        _run("--gpu", "sm_90")
    with pytest.raises(UsageError, match="go neither"):
        _run("--image", "x", "--rootfs", "y")


def test_rules_on_images_are_none_of_a_hosts_diagnosis() -> None:
    _, host = _run("--from", str(HOST))
    assert "Candidate" not in host["coverage"]["not_seen"]
