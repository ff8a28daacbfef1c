import subprocess
from pathlib import Path

import image_trees as made
import pytest
from image_trees import ENGINE, LINKS, PACKAGES

from qops.contents import image
from qops.errors import EvidenceError, UsageError
from qops.evidence.image import Candidate


def _quiet(done: int, size: int) -> None:
    pass


def _archive(tmp_path: Path, data: bytes) -> Candidate:
    path = tmp_path / "image.tar"
    path.write_bytes(data)
    return image.named(str(path), _quiet)


def _whole(found: Candidate) -> None:
    assert found.look.kernels == {"torch": ("sm_120", "sm_80", "sm_90"), "vllm": ("sm_120f", "sm_90a")}
    assert found.look.packages == {"torch": "2.11.0+cu130", "vllm": "0.33.0", "nvidia_nccl_cu13": "2.28.9"}
    (compat,) = found.look.compat
    assert (compat.path, compat.version) == ("/usr/local/cuda-13.0/compat/libcuda.so.580.65.06", "580.65.06")
    assert compat.drivers == (535, 550, 570, 575)
    assert found.look.drivers == {"/usr/lib/x86_64-linux-gnu/libcuda.so.550.54.14": "550.54.14"}
    assert found.look.stubs == ("/usr/local/cuda-13.0/lib64/stubs/libcuda.so.1",)
    assert "/usr/local/cuda-13.0/compat" in found.loader and "/opt/lib" not in found.loader
    assert found.cuda == "13.0.1"


def test_an_unpacked_root(tmp_path: Path) -> None:
    # By the program: Python before 3.11.4 (Debian 12 has 3.11.2) knows no filter, and later ones warn without.
    subprocess.run(["tar", "-x", "-C", tmp_path], input=made.tree(ENGINE, LINKS), check=True)
    _whole(image.rooted(str(tmp_path), _quiet))


def test_an_archive_whose_order_comes_last(tmp_path: Path) -> None:
    about = made.config("CUDA_VERSION=13.0.1", "HF_TOKEN=hf_secret", "LD_LIBRARY_PATH=/usr/local/cuda/lib64/stubs")
    found = _archive(tmp_path, made.saved([made.tree({"etc/hosts": b""}), made.tree(ENGINE, LINKS)], about))
    _whole(found)
    assert found.architecture == "amd64"
    assert "/usr/local/cuda/lib64/stubs" in found.loader
    assert "hf_secret" not in repr(found)


@pytest.mark.parametrize("packed", [True, False])
def test_an_oci_layout(tmp_path: Path, packed: bool) -> None:
    data = made.layout([made.tree(ENGINE, LINKS)], made.config(architecture="arm64"), packed=packed)
    found = _archive(tmp_path, data)
    _whole(found)
    assert found.architecture == "arm64"


def test_what_a_later_layer_takes_away_or_replaces(tmp_path: Path) -> None:
    newer = {
        "usr/local/cuda-13.0/.wh.compat": b"",
        f"{PACKAGES}/vllm/.wh..wh..opq": b"",
        f"{PACKAGES}/torch/lib/libtorch_cuda.so": made.library("sm_121a"),
        "usr/lib/x86_64-linux-gnu/.wh.libcuda.so.550.54.14": b"",
    }
    found = _archive(tmp_path, made.saved([made.tree(ENGINE, LINKS), made.tree(newer)], made.config()))
    assert found.look.kernels == {"torch": ("sm_121a",)}
    assert (found.look.compat, found.look.drivers) == ((), {})


def test_an_image_of_docker_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = made.docker(tmp_path, ENGINE, "CUDA_VERSION=13.0.1", "API_KEY=k")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    read: list[tuple[int, int]] = []
    _whole(image.named("acme/engine:7", lambda done, size: read.append((done, size))))
    assert read[-1][0] > 100_000 and read[-1][1] == 123
    words = [line.split()[0] for line in asked.read_text().splitlines()]
    assert words == ["info", "image", "create", "export", "rm"]


def test_ctrl_c_removes_the_container(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = made.docker(tmp_path, ENGINE)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    def stop(done: int, size: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        image.named("acme/engine:7", stop)
    assert asked.read_text().splitlines()[-1] == "rm --force c0ffee"


def test_what_cannot_be_looked_into_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made.docker(tmp_path, ENGINE)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(UsageError, match="no image acme/other:1 is here: No such image"):
        image.named("acme/other:1", _quiet)
    with pytest.raises(UsageError, match="is a folder"):
        image.named(str(tmp_path), _quiet)
    with pytest.raises(UsageError, match="is no folder"):
        image.rooted(str(tmp_path / "none"), _quiet)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="is empty"):
        image.rooted(str(tmp_path / "empty"), _quiet)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(UsageError, match="neither docker nor podman"):
        image.named("acme/engine:7", _quiet)


GOOD = made.saved([made.tree(ENGINE)], made.config())


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "no image archive"),
        (b"no archive at all", "no image archive"),
        (GOOD[: len(GOOD) // 2], "no image archive|names no image|not in the archive"),
        (made.tree({"etc/hosts": b"x"}), "names no image"),
        (made.tree({"manifest.json": b"[]"}), "names no image"),
        (made.tree({"manifest.json": b"[" * 100_000}), "names no image"),
        (made.tree({"manifest.json": b'[{"Config": 1, "Layers": 7}]'}), "names no layers"),
        (made.tree({"manifest.json": b'[{"Config": "c", "Layers": ["gone"]}]'}), "1 of 1 layers are not"),
        (made.tree({"manifest.json": b'[{"RepoTags": ["a:1"]}, {"RepoTags": ["b:1"]}]'}), "2 images: a:1, b:1"),
        (made.tree({"blobs/sha256/1": b"\x28\xb5\x2f\xfd" + b"x" * 99}), "zstd"),
    ],
)
def test_damaged_and_hostile_archives(tmp_path: Path, data: bytes, why: str) -> None:
    with pytest.raises(EvidenceError, match=why):
        _archive(tmp_path, data)


def test_a_layer_that_is_made_to_hurt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qops.contents.archive.MOST_MEMBERS", 3)
    with pytest.raises(EvidenceError, match="more than any image"):
        _archive(tmp_path, GOOD)


def test_a_library_that_lies_about_itself_is_passed_over(tmp_path: Path) -> None:
    broken = {
        f"{PACKAGES}/torch/lib/libtorch_cuda.so": made.library("sm_90")[:-600],
        f"{PACKAGES}/vllm/_C.abi3.so": b"\x7fELF" + b"\x50\xed\x55\xba\x01\x00\x10\x00" * 20_000,
        "usr/local/cuda-13.0/version.json": b'{"cuda": ["' + b"x" * 99,
        "usr/local/cuda-13.0/compat/libcuda.so.580.65.06": b'{"CUDA version": ' + b"{" * 9999,
        "etc/ld.so.conf": b"\xff\xfe/compat\n" * 50,
    }
    found = _archive(tmp_path, made.saved([made.tree(broken)], made.config()))
    assert found.look.kernels == {"torch": ("sm_90",)}
    assert found.cuda == "" and found.look.compat[0].drivers == ()


@pytest.mark.parametrize(("version", "cuda"), [("2.11.0+cu130", "13.0"), ("2.9.1+cu128", "12.8"), ("2.11.0+cpu", "")])
def test_where_nothing_else_says_it_pytorch_tells_the_cuda(tmp_path: Path, version: str, cuda: str) -> None:
    files = {f"{PACKAGES}/torch-{version}.dist-info/METADATA": b"Name: torch"}
    assert _archive(tmp_path, made.saved([made.tree(files)], made.config())).cuda == cuda
