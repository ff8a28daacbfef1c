"""The lab's SSH keys: one that opens its hosts, and one that each host shows."""

import contextlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from qops.lab.errors import LabError
from qops.lab.place import Place


def ensure_pair(private: Path, comment: str) -> None:
    """Make an ed25519 pair unless it is there; the private file comes last, so that a pair is whole or absent."""
    if private.exists() and public(private).exists():
        return
    private.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.TemporaryDirectory(dir=private.parent) as folder:
        fresh = Path(folder) / "key"
        try:
            done = subprocess.run(
                ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(fresh)],
                capture_output=True,
                text=True,
                check=False,
            )
        except FileNotFoundError:
            raise LabError(
                "the lab needs ssh and ssh-keygen, which are not here", "apt-get install openssh-client"
            ) from None
        if done.returncode != 0:
            raise LabError(f"ssh-keygen failed: {done.stderr.strip()}")
        public(fresh).replace(public(private))
        fresh.replace(private)


def public(private: Path) -> Path:
    """Return the public half's path."""
    return private.with_name(private.name + ".pub")


def host_key(place: Place, host: str) -> Path:
    """Return the path of the private key that a host shows."""
    return place.host_folder(host) / "ssh_host_ed25519_key"


def write_known_hosts(place: Place, addresses: Iterable[tuple[str, str]]) -> None:
    """Write which key each host and its address show: nothing is trusted at first sight."""
    lines = []
    for host, address in addresses:
        shown = public(host_key(place, host))
        if address and shown.exists():
            kind, key = shown.read_text(encoding="utf-8").split()[:2]
            lines.append(f"{address},{host} {kind} {key}\n")
    with tempfile.NamedTemporaryFile("w", dir=place.folder, prefix="known_hosts.", delete=False) as fresh:
        fresh.write("".join(sorted(lines)))
    Path(fresh.name).replace(place.known_hosts)


def forget(place: Place) -> None:
    """Remove every key of the lab."""
    for path in (place.key, public(place.key), place.known_hosts):
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
    shutil.rmtree(place.folder / "hosts", ignore_errors=True)


def ssh_options(place: Place) -> tuple[str, ...]:
    """Return the options that make ssh trust this lab's hosts, and nothing else, and never ask."""
    return (
        "-o", f"UserKnownHostsFile={place.known_hosts}", "-o", "GlobalKnownHostsFile=/dev/null",
        "-o", "StrictHostKeyChecking=yes", "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes",
    )  # fmt: skip


def ssh(place: Place, address: str, command: tuple[str, ...] = (), options: tuple[str, ...] = ()) -> list[str]:
    """Return the ssh command line for root on a host."""
    return [
        "ssh",
        "-F",
        "none",
        "-i",
        str(place.key),
        *ssh_options(place),
        *options,
        f"root@{address}",
        *command,
    ]
