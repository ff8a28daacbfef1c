"""Images as archives and as a docker that has them, out of files made by hand."""

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import elf_files
from fat_binaries import library

PACKAGES = "usr/local/lib/python3.12/dist-packages"
ENGINE: dict[str, bytes] = {
    f"{PACKAGES}/torch-2.11.0+cu130.dist-info/METADATA": b"Name: torch\n",
    f"{PACKAGES}/vllm-0.33.0.dist-info/METADATA": b"Name: vllm\n",
    f"{PACKAGES}/nvidia_nccl_cu13-2.28.9.dist-info/METADATA": b"Name: nvidia-nccl-cu13\n",
    f"{PACKAGES}/torch/lib/libtorch_cuda.so": library("sm_80", "sm_90", "sm_120"),
    f"{PACKAGES}/vllm/_C.abi3.so": library("sm_90a", "sm_120f"),
    "usr/local/cuda-13.0/compat/libcuda.so.580.65.06": elf_files.library(),
    "usr/local/cuda-13.0/version.json": b'{"cuda": {"name": "CUDA SDK", "version": "13.0.1"}}',
    "usr/local/cuda-13.0/lib64/stubs/libcuda.so": b"\x7fELF",
    "usr/lib/x86_64-linux-gnu/libcuda.so.550.54.14": b"\x7fELF",
    "etc/ld.so.conf.d/00-compat.conf": b"# first of all\n/usr/local/cuda-13.0/compat\n/opt/lib\n",
    "etc/hosts": b"127.0.0.1 localhost\n",
}
LINKS = {"usr/local/cuda-13.0/lib64/stubs/libcuda.so.1": "libcuda.so"}


def tree(files: Mapping[str, bytes], links: Mapping[str, str] = {}) -> bytes:
    """Return a tar archive."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
        for name, target in links.items():
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, target
            tar.addfile(member)
    return stream.getvalue()


def config(*environment: str, architecture: str = "amd64") -> bytes:
    return json.dumps({"architecture": architecture, "config": {"Env": list(environment)}}).encode()


def saved(layers: Sequence[bytes], about: bytes, *, tags: Sequence[str] = ("acme/engine:7",)) -> bytes:
    """Return an archive as `docker save` wrote it before 25: what says the order comes last."""
    names = [f"{hashlib.sha256(layer).hexdigest()}/layer.tar" for layer in layers]
    manifest = [{"Config": "c.json", "RepoTags": list(tags), "Layers": names}]
    files = dict(reversed(list(zip(names, layers, strict=True))))  # the uppermost comes first
    return tree({**files, "c.json": about, "manifest.json": json.dumps(manifest).encode()})


def layout(layers: Sequence[bytes], about: bytes, *, packed: bool = True) -> bytes:
    """Return an OCI layout as an archive."""
    blobs = [gzip.compress(layer) if packed else layer for layer in layers]

    def place(data: bytes) -> str:
        return f"blobs/sha256/{hashlib.sha256(data).hexdigest()}"

    def named(data: bytes) -> dict[str, str]:
        return {"digest": f"sha256:{hashlib.sha256(data).hexdigest()}"}

    manifest = json.dumps({"config": named(about), "layers": [named(blob) for blob in blobs]}).encode()
    index = json.dumps({"manifests": [named(manifest), {"digest": "sha256:" + "0" * 64}]}).encode()
    return tree({"index.json": index, **{place(data): data for data in (*blobs, about, manifest)}})


DOCKER = """#!/bin/sh
echo "$*" >> {folder}/asked
case "$1 $2" in
  "info --format") echo ID ;;
  "image inspect") [ "$3" = acme/engine:7 ] && exec cat {folder}/inspect.json; echo "No such image: $3" >&2; exit 1 ;;
  "create --network") echo c0ffee ;;
  "export c0ffee") exec cat {folder}/root.tar ;;
  "rm --force") ;;
  *) exit 64 ;;
esac
"""


def docker(folder: Path, files: Mapping[str, bytes], *environment: str) -> Path:
    """Place a `docker` that has the image acme/engine:7, and return the file with what it was asked."""
    (folder / "root.tar").write_bytes(tree(files, LINKS))
    about = {"Size": 123, "Architecture": "amd64", "Config": {"Env": list(environment)}}
    (folder / "inspect.json").write_text(json.dumps([about]))
    program = folder / "docker"
    program.write_text(DOCKER.format(folder=folder))
    program.chmod(0o755)
    return folder / "asked"
