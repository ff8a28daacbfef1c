"""An image by its name in docker or podman, as an archive, or as an unpacked root: what lies in it."""

import json
import os
import stat
import subprocess
import tarfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from qops.contents import archive
from qops.errors import EvidenceError, UsageError
from qops.evidence.image import Candidate
from qops.evidence.text import Quote
from qops.probes import fatbin, images
from qops.probes.image_files import Files, together
from qops.transports.base import clean

Told = Callable[[int, int], None]
"""Hears how many bytes were read, and of how many, 0 when nobody knows."""

_CREATED = ("create", "--network", "none", "--label", "dev.qops.look=1", "--pull", "never")


def named(name: str, told: Told) -> Candidate:
    """Look into an image that docker or podman has, or into an archive of one. UsageError when there is none."""
    if Path(name).is_file():
        return _archived(Path(name), told)
    if Path(name).is_dir():
        raise UsageError(f"{name} is a folder", f"an unpacked image is given by --rootfs {name}")
    engines = [engine for engine in ("docker", "podman") if _answers(engine)]
    if not engines:
        raise UsageError("neither docker nor podman answers here", "see `docker info`, or give an archive or --rootfs")
    for engine in engines:
        done = _run(engine, "image", "inspect", name)
        if done.returncode == 0:
            return _of_engine(engine, name, _inspected(done.stdout), told)
    why = clean(done.stderr.strip())[-200:]
    raise UsageError(f"no image {name} is here: {why}", f"{engines[0]} pull {name}, or {engines[0]} image ls")


def rooted(folder: str, told: Told) -> Candidate:
    """Look into the root of an unpacked image. UsageError when it is no folder."""
    root = Path(folder)
    if not root.is_dir():
        raise UsageError(f"{folder} is no folder", "give the root of an unpacked image: the folder with usr in it")
    files = Files(fatbin.targets)
    count = 0
    for place, _, names in os.walk(root):
        for name in names:
            path = Path(place, name)
            inside = str(path.relative_to(root))
            count += 1
            told(count, 0)
            try:
                about = path.lstat()
                if not stat.S_ISREG(about.st_mode):
                    files.link(inside)
                elif files.wants(inside, about.st_size):
                    with path.open("rb") as file:
                        files.take(inside, file)
            except OSError:
                continue  # gone meanwhile, or not ours to read: what was not seen accuses nobody
    if not count:
        raise UsageError(f"{folder} is empty", "give the root of an unpacked image: the folder with usr in it")
    return _candidate(folder, files.found, {}, "")


def _answers(engine: str) -> bool:
    try:
        return _run(engine, "info", "--format", "{{.ID}}" if engine == "docker" else "{{.Host.Arch}}").returncode == 0
    except FileNotFoundError:
        return False


def _run(engine: str, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [engine, *words], capture_output=True, text=True, errors="replace", check=False, stdin=subprocess.DEVNULL
    )


def _inspected(text: str) -> Mapping[str, Any]:
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        said = None
    found = said[0] if isinstance(said, list) and said else None
    return found if isinstance(found, dict) else {}


def _of_engine(engine: str, name: str, about: Mapping[str, Any], told: Told) -> Candidate:
    size = about.get("Size")
    config = about.get("Config")
    files = Files(fatbin.targets)
    with _exported(engine, name) as stream:
        counted = archive.Counted(stream, lambda read: told(read, size if isinstance(size, int) else 0))
        archive.read_files(counted, files)
    environment = archive.environment(config if isinstance(config, dict) else {})
    return _candidate(name, files.found, environment, str(about.get("Architecture") or ""))


@contextmanager
def _exported(engine: str, name: str) -> Iterator[IO[bytes]]:
    """Give all files of an image as a tar stream. By a container that is never started: `save` would copy them first.

    The container is removed whatever happens.
    """
    done = _run(engine, *_CREATED, name, "/none")
    if done.returncode:
        raise UsageError(f"{engine} cannot look into {name}: {clean(done.stderr.strip())[-300:]}", f"{engine} info")
    container = done.stdout.split()[-1]
    try:
        process = subprocess.Popen(
            [engine, "export", container], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL
        )
        try:
            if process.stdout is not None:
                yield process.stdout
        finally:
            process.kill()
            if process.stdout is not None:
                process.stdout.close()
            process.wait()
    finally:
        subprocess.run(
            [engine, "rm", "--force", container],
            capture_output=True,
            check=False,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )


def _archived(path: Path, told: Told) -> Candidate:
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            found = archive.read(archive.Counted(file, lambda read: told(read, size)))
    except (OSError, tarfile.TarError, EOFError) as error:
        raise EvidenceError(
            f"{path} is no image archive that can be read: {error}", "make one: docker save -o FILE"
        ) from None
    return _candidate(str(path), found.files, found.environment, found.architecture)


def _candidate(
    name: str, found: Mapping[str, Mapping[str, Any]], environment: Mapping[str, str], architecture: str
) -> Candidate:
    whole = together(found)
    folders = [*environment.get("LD_LIBRARY_PATH", "").split(":"), *whole["folders"]]
    return Candidate(
        name=name,
        quote=Quote(name, 0, _told(whole)),
        cuda=environment.get("CUDA_VERSION", "") or whole["cuda"] or _cuda_of(whole["packages"].get("torch", "")),
        requires=environment.get("NVIDIA_REQUIRE_CUDA", ""),
        architecture=architecture,
        loader=tuple(folder for folder in folders if "compat" in folder or "stubs" in folder),
        look=images.look(whole),
    )


def _cuda_of(torch: str) -> str:
    """Return the CUDA that a wheel of PyTorch was built for: 2.11.0+cu130 is of 13.0."""
    number = torch.partition("+cu")[2]
    return f"{number[:-1]}.{number[-1]}" if number.isascii() and number.isdigit() and len(number) > 2 else ""


def _told(whole: Mapping[str, Any]) -> str:
    """Return in one line what was found, as a finding quotes it."""
    packages = ", ".join(f"{name} {version}" for name, version in sorted(whole["packages"].items()))
    compat = ", ".join(one["path"] for one in whole["compat"])
    kernels = "; ".join(f"{name}: {', '.join(targets)}" for name, targets in sorted(whole["kernels"].items()))
    return clean(" | ".join(part for part in (packages, compat, kernels) if part))[:1500] or "nothing for GPUs"
