"""A real sshd on a free port of 127.0.0.1, for the tests: its own keys, its own configuration, as the current user."""

import getpass
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from qops.inventory import Host

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
need_sshd = pytest.mark.skipif(
    SSHD is None or shutil.which("ssh-keygen") is None,
    reason="there is no sshd here; to run this: apt-get install openssh-server",
)


def key_pair(path: Path, passphrase: str = "") -> str:
    """Make a key pair at `path` and return the public half."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-f", str(path)], check=True)
    return path.with_suffix(".pub").read_text()


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def relay(path: Path, *, after: float = 0.0) -> str:
    """Write a program at `path` that passes a connection on, begun `after` seconds; return the ProxyCommand."""
    path.write_text(
        "import os, socket, sys, threading, time\n"
        f"time.sleep({after})\n"
        "s = socket.create_connection((sys.argv[1], int(sys.argv[2])))\n"
        "def up():\n"
        "    while d := os.read(0, 65536): s.sendall(d)\n"
        "threading.Thread(target=up, daemon=True).start()\n"
        "while d := s.recv(65536): os.write(1, d)\n"
    )
    return f"{sys.executable} {path} %h %p"


class Sshd:
    """A running sshd; `host` reaches it. `lines` are added to its configuration, `within` is what starts it."""

    def __init__(self, folder: Path, *lines: str, within: Sequence[str] = ()) -> None:
        assert SSHD is not None
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.port, self.within = folder, free_port(), within
        shown = key_pair(folder / "host_key")
        # Not the user's own home: what starts its shells may take its time, or wait for a lock that a killed one left.
        (folder / "authorized").write_text(f'environment="HOME={folder}" {key_pair(folder / "key")}')
        self.known_hosts = folder / "known_hosts"
        self.known_hosts.write_text(f"[127.0.0.1]:{self.port} {' '.join(shown.split()[:2])}\n")
        settings = (
            f"Port {self.port}", "ListenAddress 127.0.0.1", f"HostKey {folder / 'host_key'}", "PidFile none",
            f"AuthorizedKeysFile {folder / 'authorized'}", "StrictModes no", "UsePAM no",
            "PermitUserEnvironment HOME", "PasswordAuthentication no", "KbdInteractiveAuthentication no", *lines,
        )  # fmt: skip
        (folder / "sshd_config").write_text("\n".join(settings) + "\n")
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(exist_ok=True)  # sshd's empty folder, which its package's service makes
        with (folder / "log").open("wb") as log:
            self.process = subprocess.Popen(
                [*within, SSHD, "-D", "-e", "-f", str(folder / "sshd_config")], stdin=subprocess.DEVNULL, stderr=log
            )
        self.host = Host(
            "far", "127.0.0.1", self.port, getpass.getuser(), str(folder / "key"), (str(self.known_hosts),),
            config="none", only_key=True,
        )  # fmt: skip
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            assert self.process.poll() is None, (folder / "log").read_text()
            time.sleep(0.05)

    def named(self, name: str, **changes: object) -> Host:
        """Return `host` under another name, with `changes`."""
        return replace(self.host, name=name, **changes)  # type: ignore[arg-type]

    def entry(self, name: str) -> str:
        """Return the line of an INI inventory that reaches it."""
        arguments = f"-F none -o UserKnownHostsFile={self.known_hosts} -o IdentitiesOnly=yes"
        return (
            f"{name} ansible_host=127.0.0.1 ansible_port={self.port} ansible_user={self.host.user} "
            f"ansible_ssh_private_key_file={self.host.key} ansible_ssh_common_args='{arguments}'\n"
        )

    def stop(self) -> None:
        self.process.kill() if self.within else self.process.terminate()  # unshare ignores the milder signal
        self.process.wait(10)


def running(words: str) -> bool:
    """Tell whether a process with these words in its command line is left here, after a moment."""
    for _ in range(80):
        lines = [_command(f) for f in Path("/proc").glob("[0-9]*/cmdline")]
        if not any(words.encode() in line for line in lines):
            return False
        time.sleep(0.05)
    return True


def _command(path: Path) -> bytes:
    try:
        return path.read_bytes().replace(b"\0", b" ")
    except OSError:  # it has just ended
        return b""
