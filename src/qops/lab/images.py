"""Base images: a Debian each, made with debootstrap, shared by all labs of this machine."""

import hashlib
import os
import shutil
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from qops.lab import mirror
from qops.lab.docker import BASE, LABEL, Docker
from qops.lab.errors import LabError
from qops.lab.place import Place, Say

REPOSITORY = "qops-lab-base"
BUILD_S = 1800  # a minute and a half here; a slow mirror may take a quarter of an hour
SAY_EVERY_S = 10

SUITES = {"debian12": "bookworm", "debian13": "trixie"}

# What a server has that the roles and probes rely on. Docker is in each image, so that a host needs no
# network to run it; a scenario only switches it on.
_PACKAGES = (
    "systemd", "systemd-sysv", "dbus", "libpam-systemd", "openssh-server", "sudo", "python3", "python3-apt", "kmod",
    "procps", "iproute2", "iputils-ping", "ca-certificates", "curl", "gpgv", "iptables", "docker.io",
)  # fmt: skip
_EXTRA: dict[str, tuple[str, ...]] = {"debian12": (), "debian13": ("docker-cli",)}

# Nobody reads manuals in a practice host. Host keys and the machine id are each host's own.
_LEFT_OUT = (
    "usr/share/doc/*",
    "usr/share/man/*",
    "usr/share/info/*",
    "usr/share/locale/*",
    "var/cache/apt/archives/*.deb",
    "var/cache/apt/*.bin",
    "var/lib/apt/lists/*",
    "var/log/*.log",
    "etc/ssh/ssh_host_*",
    "etc/systemd/system/multi-user.target.wants/docker.service",
    "etc/systemd/system/multi-user.target.wants/containerd.service",
    "etc/systemd/system/sockets.target.wants/docker.socket",
    "etc/systemd/system/multi-user.target.wants/e2scrub_reap.service",
    "etc/systemd/system/timers.target.wants/*",
)
_RECIPE = 1  # raise it when what is done to the tree changes otherwise than by the lists above

# A builder must not outlive a killed `qops lab`: the kernel kills `unshare` with its parent, and with the
# first process of the new PID namespace goes everything in it, its mounts too.
_TIED = ("setpriv", "--pdeathsig", "KILL", "--")
_APART = (*_TIED, "unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--")


@dataclass(frozen=True, slots=True)
class Base:
    """One base image and what it is made of."""

    name: str

    @property
    def suite(self) -> str:
        """Debian's code name."""
        return SUITES[self.name]

    @property
    def packages(self) -> tuple[str, ...]:
        """What is installed besides the essential packages."""
        return (*_PACKAGES, *_EXTRA[self.name])

    @property
    def tag(self) -> str:
        """The image's name; it changes with what the image is made of."""
        recipe = repr((_RECIPE, self.suite, self.packages, _LEFT_OUT))
        return f"{REPOSITORY}:{self.name}-{hashlib.sha256(recipe.encode()).hexdigest()[:12]}"


def present(docker: Docker, base: Base) -> bool:
    """Tell whether the image is there."""
    return docker.call("image", "inspect", base.tag, check=False).returncode == 0


def make(docker: Docker, base: Base, place: Place, say: Say) -> None:
    """Make one base image; nothing under its name exists before it is whole."""
    require(base)
    began = time.monotonic()
    say(f"{base.name}: making the base image, once, about 90 s (debootstrap {base.suite})")
    folder = place.builds / base.name
    clear_builds(place)
    folder.mkdir(parents=True)
    root = folder / "root"
    _debootstrap(docker, base, root, folder / "log", say)
    _trim(root)
    say(f"{base.name}: handing it to Docker")
    _import(docker, base, root, place)
    clear_builds(place)
    say(f"{base.name}: base image ready after {time.monotonic() - began:.0f} s")


def clear_builds(place: Place) -> None:
    """Remove what a build that was cut short left behind."""
    for line in Path("/proc/mounts").read_text(encoding="utf-8").splitlines():
        if line.split()[1].startswith(f"{place.builds}/"):
            subprocess.run(["umount", "--lazy", line.split()[1]], check=False, capture_output=True)
    shutil.rmtree(place.builds, ignore_errors=True)


def clear_half_imported(docker: Docker, place: Place) -> None:
    """Remove the image that a killed `up` of this lab was importing."""
    docker.call("image", "rm", "--force", f"{REPOSITORY}:building-{place.name}", check=False)


def remove_all(docker: Docker) -> tuple[str, ...]:
    """Remove every base image that no container needs; return those that are still in use."""
    kept = []
    for identity in docker.lines("image", "ls", "-aq", "--no-trunc", "--filter", f"label={LABEL}=any"):
        tags = docker.text("image", "inspect", "--format", '{{join .RepoTags " "}}', identity).split()
        for name in tags or [identity]:
            if docker.call("image", "rm", name, check=False).returncode != 0:
                kept.append(name)
    return tuple(kept)


def require(base: Base) -> None:
    """Make sure that this machine can make the image; LabError says what brings what is missing."""
    if shutil.which("debootstrap") is None:
        raise LabError(
            "a base image is made with debootstrap, which is not here",
            "apt-get install debootstrap debian-archive-keyring",
        )
    if not Path("/usr/share/debootstrap/scripts", base.suite).exists():
        raise LabError(
            f"this debootstrap does not know Debian {base.suite}", "apt-get install debootstrap (a newer one)"
        )
    if not Path("/usr/share/keyrings/debian-archive-keyring.gpg").exists():
        raise LabError(
            "Debian's keys are not here, so nothing that is fetched could be checked",
            "apt-get install debian-archive-keyring",
        )
    if os.geteuid() != 0:
        raise LabError("making a base image takes root", "sudo -E qops lab up, and sudo -E for its other commands")
    for tool in ("setpriv", "unshare"):
        if shutil.which(tool) is None:
            raise LabError(f"a base image is made with {tool}, which is not here", "apt-get install util-linux")
    probe = subprocess.run([*_APART, "true"], capture_output=True, text=True, check=False)
    if probe.returncode != 0:
        raise LabError(
            f"a base image needs its own mount and PID namespace: {probe.stderr.strip()}",
            "give this machine or container CAP_SYS_ADMIN (docker run --cap-add SYS_ADMIN, or a virtual machine)",
        )


def _debootstrap(docker: Docker, base: Base, root: Path, log: Path, say: Say) -> None:
    proxy = mirror.proxy()
    # No fsync for each file: a tree that was cut short is thrown away anyhow.
    environment = {
        **os.environ,
        "DEBIAN_FRONTEND": "noninteractive",
        "DPKG_FORCE": "unsafe-io",
        "LC_ALL": "C.UTF-8",
    }
    if proxy:
        environment.setdefault("http_proxy", proxy)
    packages = ",".join(base.packages)
    command = [
        *_APART,
        "debootstrap",
        "--variant=minbase",
        f"--include={packages}",
        base.suite,
        str(root),
        *filter(None, [mirror.debian()]),
    ]
    with log.open("w", encoding="utf-8") as out:
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
            pass_fds=docker.inherited,
        )  # fmt: skip
        try:
            _watch(process, base, log, say)
        finally:
            process.kill()
            process.wait()
    if process.returncode != 0 or not (root / "sbin" / "init").is_symlink():
        raise LabError(f"debootstrap {base.suite} failed (status {process.returncode}): {_last(log)}", "apt-get update")


def _watch(process: subprocess.Popen[bytes], base: Base, log: Path, say: Say) -> None:
    began = time.monotonic()
    while True:
        try:
            process.wait(SAY_EVERY_S)
        except subprocess.TimeoutExpired:
            waited = time.monotonic() - began
            say(f"{base.name}: {waited:.0f} s, {_last(log)}")
            if waited > BUILD_S:
                raise LabError(f"debootstrap {base.suite} is not done after {BUILD_S} s: {_last(log)}") from None
        else:
            return


def _last(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return lines[-1].removeprefix("I: ").lower() if lines else "no output yet"


def _trim(root: Path) -> None:
    for pattern in _LEFT_OUT:
        for path in root.glob(pattern):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    (root / "etc/machine-id").write_text("")


def _import(docker: Docker, base: Base, root: Path, place: Place) -> None:
    half = f"{REPOSITORY}:building-{place.name}"
    tar = subprocess.Popen([*_TIED, "tar", "-C", str(root), "-c", "."], stdout=subprocess.PIPE)
    packed: IO[bytes] | None = tar.stdout
    try:
        changes = [
            option for label in (f"{LABEL}=any", f"{BASE}={base.name}") for option in ("--change", f"LABEL {label}")
        ]
        docker.call("import", *changes, "-", half, stdin=packed, timeout=600)
    finally:
        if packed is not None:
            packed.close()
        reaper = threading.Timer(10, tar.kill)  # a tar whose reader has gone ends by itself
        reaper.start()
        status = tar.wait()
        reaper.cancel()
    # Docker takes a tar that ends early for a whole one, so the real name comes only after tar has succeeded.
    if status != 0:
        raise LabError(f"packing the base image failed (tar status {status})", "df -h /var/lib/docker")
    docker.call("tag", half, base.tag)
    docker.call("image", "rm", half)
