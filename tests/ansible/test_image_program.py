"""qops-image, the program that inference_image places on a host, with a registry and a docker of our own."""

import json
import os
import subprocess
import sys
import tarfile
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from fat_binaries import library
from image_registry import Registry, digest, docker, image
from playing import ROOT

PROGRAM = ROOT / "roles/inference_image/files/qops-image"
ONE, TWO, THREE = ("sha256:" + c * 64 for c in "123")
NOTE = '{"format":1,"CUDA version":"13.0","driver":[535,550],"device":[8,9]}'


def _run(tmp_path: Path, *images: dict[str, str], command: str = "ensure", **more: Any) -> dict[str, Any]:
    spec = {
        "engine": "docker",
        "record": str(tmp_path / "lib/images.json"),
        "mirror": "",
        "keep_free": 0,
        "prune": False,
        "images": [{"digest": "", "id": "", "archive": "", **one} for one in images],
        **more,
    }
    done = subprocess.run(
        [sys.executable, "-IB", str(PROGRAM), command],
        input=json.dumps(spec),
        env={**os.environ, "PATH": f"{tmp_path}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stdout, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == (1 if answer["errors"] else 0)
    return answer


def _tags(state: Path) -> dict[str, str]:
    return {tag: i["Id"] for i in json.loads(state.read_text())["images"] for tag in i["RepoTags"]}


def _record(tmp_path: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((tmp_path / "lib/images.json").read_text())
    return record


def test_an_image_comes_by_its_digest_and_the_second_run_asks_nothing(tmp_path: Path) -> None:
    with Registry(token="t") as registry:
        wanted = registry.put("acme/engine:1", [("a", 10), ("b", 20)])
        name = f"{registry.host}/acme/engine"
        pulls = {f"{name}@{wanted}": image(ONE, ["a", "b"], ["CUDA_VERSION=13.0.1"])}
        packages = "usr/local/lib/python3.12/dist-packages"
        inside = {
            "usr/local/cuda-13.0/compat/libcuda.so.575.57.08": "\x7fELF" + NOTE,
            f"{packages}/vllm/_C.abi3.so": library("sm_90a", "sm_120").decode("latin-1"),
            f"{packages}/vllm/_moe_C.abi3.so": library("compute_120").decode("latin-1"),
            f"{packages}/vllm/small.so": "\x7fELF",
            "etc/hosts": "",
        }
        state = docker(tmp_path, pulls=pulls, insecure=registry.host, inside=inside)
        one = {"name": "engine", "image": f"{name}:1", "digest": wanted}
        answer = _run(tmp_path, one)
        assert (answer["errors"], answer["changed"]) == ([], True)
        assert _tags(state) == {"qops.local/engine:current": ONE}
        (compat,) = _record(tmp_path)["looks"][ONE]["compat"]
        assert compat["version"] == "575.57.08" and compat["note"] == NOTE
        assert compat["path"] == "/usr/local/cuda-13.0/compat/libcuda.so.575.57.08"
        assert _record(tmp_path)["looks"][ONE]["kernels"] == {"vllm": ["compute_120", "sm_120", "sm_90a"]}
        registry.asked.clear()
        assert _run(tmp_path, one) == {"changed": False, "said": [], "errors": []}
        assert not registry.asked


def test_a_tag_is_resolved_pulled_by_its_digest_and_reported(tmp_path: Path) -> None:
    with Registry() as registry:
        now = registry.put("acme/engine:1", [("a", 10)])
        name = f"{registry.host}/acme/engine"
        state = docker(tmp_path, pulls={f"{name}@{now}": image(ONE, ["a"])}, insecure=registry.host)
        answer = _run(tmp_path, {"name": "engine", "image": f"{name}:1"})
        assert f"to pin it: {name}:1: {now}" in " ".join(answer["said"])
        assert _tags(state)[f"{name}:1"] == ONE
        assert _run(tmp_path, {"name": "engine", "image": f"{name}:1"})["changed"] is False


def test_a_mirror_is_asked_in_place_of_the_registry(tmp_path: Path) -> None:
    with Registry() as registry:
        wanted = registry.put("hub/vllm/vllm-openai:v1", [("a", 10)])
        pulls = {f"{registry.host}/hub/vllm/vllm-openai@{wanted}": image(ONE, ["a"])}
        docker(tmp_path, pulls=pulls, insecure=registry.host)
        one = {"name": "engine", "image": "vllm/vllm-openai:v1", "digest": wanted}
        assert _run(tmp_path, one, mirror=f"{registry.host}/hub")["errors"] == []


@pytest.mark.parametrize(
    ("here", "words"),
    [([], "3500.0 GB are needed"), (["a"], "700.0 GB are needed"), (["b", "a"], "3500.0 GB are needed")],
)
def test_the_disk_must_hold_what_has_to_come(tmp_path: Path, here: list[str], words: str) -> None:
    with Registry() as registry:
        wanted = registry.put("acme/engine:1", [("a", 800 * 10**9), ("b", 200 * 10**9)])
        docker(tmp_path, images=[image(TWO, here)] if here else [], insecure=registry.host)
        one = {"name": "engine", "image": f"{registry.host}/acme/engine:1", "digest": wanted}
        (error,) = _run(tmp_path, one, keep_free=1 << 60)["errors"]
        assert words in error


def test_an_image_for_another_processor_is_refused_by_name(tmp_path: Path) -> None:
    with Registry() as registry:
        registry.put("acme/engine:1", [("a", 1)], architecture="riscv64")
        docker(tmp_path, insecure=registry.host)
        (error,) = _run(tmp_path, {"name": "engine", "image": f"{registry.host}/acme/engine:1"})["errors"]
        assert "which this host is; there is riscv64" in error


def test_a_new_image_keeps_the_one_before_and_going_back_needs_no_registry(tmp_path: Path) -> None:
    with Registry() as registry:
        first, second = registry.put("acme/engine:1", [("a", 1)]), registry.put("acme/engine:2", [("b", 1)])
        name = f"{registry.host}/acme/engine"
        pulls = {f"{name}@{first}": image(ONE, ["a"]), f"{name}@{second}": image(TWO, ["b"])}
        state = docker(tmp_path, pulls=pulls, insecure=registry.host)
        one, two = ({"name": "engine", "image": f"{name}:{n}", "digest": d} for n, d in ((1, first), (2, second)))
        _run(tmp_path, one)
        _run(tmp_path, two)
        assert _tags(state) == {"qops.local/engine:current": TWO, "qops.local/engine:previous": ONE}
    answer = _run(tmp_path, one)
    assert (answer["errors"], answer["changed"]) == ([], True)
    assert _tags(state) == {"qops.local/engine:current": ONE, "qops.local/engine:previous": TWO}


def test_pruning_removes_only_what_is_older_than_the_one_before(tmp_path: Path) -> None:
    with Registry() as registry:
        pinned = [registry.put(f"acme/engine:{n}", [(str(n), 1)]) for n in (1, 2, 3)]
        name = f"{registry.host}/acme/engine"
        pulls = {f"{name}@{d}": image(i, [i]) for d, i in zip(pinned, (ONE, TWO, THREE), strict=True)}
        state = docker(tmp_path, pulls=pulls, insecure=registry.host)
        wanted = [{"name": "engine", "image": f"{name}:{n}", "digest": d} for n, d in enumerate(pinned, 1)]
        for one in wanted:
            _run(tmp_path, one)
        assert _run(tmp_path, wanted[2], prune=True)["changed"] is True
        assert [i["Id"] for i in json.loads(state.read_text())["images"]] == [TWO, THREE]
        assert _run(tmp_path, wanted[2], prune=True)["changed"] is False


def _archive(path: Path, *, whole: bool = True) -> tuple[str, str]:
    """Write an archive as docker save does; return the image's id and its manifest's digest."""
    config = json.dumps({"rootfs": {"diff_ids": ["a"]}}).encode()
    manifest = json.dumps({"config": {"digest": digest(config)}, "layers": []}).encode()
    blob = f"blobs/sha256/{digest(config)[7:]}"
    files = {
        blob: config,
        f"blobs/sha256/{digest(manifest)[7:]}": manifest if whole else manifest + b" ",
        "index.json": json.dumps({"manifests": [{"digest": digest(manifest)}]}).encode(),
        "manifest.json": json.dumps([{"Config": blob}]).encode(),
    }
    with tarfile.open(path, "w") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, BytesIO(content))
    return digest(config), digest(manifest)


@pytest.mark.parametrize("by", ["id", "digest"])
def test_an_archive_is_proved_before_it_is_loaded(tmp_path: Path, by: str) -> None:
    identity, manifest = _archive(tmp_path / "engine.tar")
    state = docker(tmp_path, loads=image(identity, ["a"]))
    one = {"name": "engine", "image": "acme/engine:1", "archive": str(tmp_path / "engine.tar")}
    (error,) = _run(tmp_path, {**one, by: ONE})["errors"]
    assert "does not hold it" in error and identity in error
    assert ["load"] not in [a[:1] for a in json.loads(state.read_text())["log"]]
    right = {**one, by: identity if by == "id" else manifest}
    assert _run(tmp_path, right)["errors"] == []
    (tmp_path / "engine.tar").unlink()
    assert _run(tmp_path, right)["changed"] is False


def test_a_damaged_archive_is_refused(tmp_path: Path) -> None:
    identity, _ = _archive(tmp_path / "engine.tar", whole=False)
    docker(tmp_path)
    one = {"name": "engine", "image": "acme/engine:1", "archive": str(tmp_path / "engine.tar"), "id": identity}
    (error,) = _run(tmp_path, one)["errors"]
    assert "the archive is damaged" in error


def test_a_tag_that_moved_is_said_and_nothing_is_pulled(tmp_path: Path) -> None:
    with Registry() as registry:
        now = registry.put("acme/engine:1", [("b", 1)])
        state = docker(tmp_path, insecure=registry.host)
        one = {"name": "engine", "image": f"{registry.host}/acme/engine:1", "digest": ONE}
        (said,) = _run(tmp_path, one, command="tags")["said"]
        assert f"moved to {now}; this host keeps {ONE}" in said
        assert [a[0] for a in json.loads(state.read_text())["log"]] == ["info"]
    (said,) = _run(tmp_path, one, command="tags")["said"]
    assert "whether the tag moved is not known" in said


def test_without_an_engine_it_says_which_role_to_run(tmp_path: Path) -> None:
    answer = _run(tmp_path, {"name": "engine", "image": "acme/engine:1"}, engine="podman")
    assert answer["errors"] == ["podman is not on this host: run the role container_engine first"]
