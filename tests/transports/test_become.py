"""Root by a password for sudo: with the real sudo and its PAM, on an sshd whose /etc is a copy of this machine's."""

import json
import logging
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from loopback import Sshd, need_sshd

from qops.cli.run import run
from qops.errors import UNREACHABLE, USAGE, TransportError
from qops.inventory import Host, with_passwords
from qops.inventory.password import Password
from qops.transports.batch_script import Put
from qops.transports.ssh import Ssh

USER, SECRET = "qops-operator", "Tr0ub4dor & 3 ways"
# A user and rights of its own, in a mount namespace: nothing on this machine changes.
INSIDE = """set -e
cp -a /etc "$1/etc"
mount --bind "$1/etc" /etc
mkdir -p /run/sudo
mount -t tmpfs none /run/sudo
useradd --no-create-home --home-dir / --shell /bin/sh "$2"
chpasswd <"$1/secret"
echo "$2 ALL=(root) ALL" >/etc/sudoers.d/qops
chmod 440 /etc/sudoers.d/qops
shift 2
exec "$@"
"""


def _missing() -> str:
    if os.geteuid() != 0 or shutil.which("sudo") is None or shutil.which("useradd") is None:
        return "this needs root, sudo and useradd: apt-get install sudo passwd"
    done = subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False)
    return "" if done.returncode == 0 else "this needs a mount namespace, and there is no right to make one"


pytestmark = [need_sshd, pytest.mark.skipif(bool(_missing()), reason=_missing() or "-")]


@pytest.fixture(scope="module")
def sshd() -> Iterator[Sshd]:
    folder = Path(tempfile.mkdtemp(prefix="qops-become-"))  # pytest's own folders are closed to other users
    folder.chmod(0o755)
    (folder / "secret").write_text(f"{USER}:{SECRET}\n")
    within = ("unshare", "--mount", "--propagation", "private", "sh", "-c", INSIDE, "sh", str(folder), USER)
    server = Sshd(folder / "sshd", "MaxStartups 100", "SetEnv QOPS_ROOT=/somewhere", within=within)
    yield server
    server.stop()
    shutil.rmtree(folder)


def host(sshd: Sshd, password: Password | None, name: str = "far") -> Host:
    return sshd.named(name, user=USER, become=True, password=password)


def asked(sshd: Sshd, folder: Path, *, file: str = SECRET, more: str = "") -> list[str]:
    """Return the arguments that name two hosts with become and a file with the password."""
    (folder / "password").write_text(file + "\n")
    hosts = "".join(sshd.entry(name).replace(f"ansible_user={sshd.host.user}", f"ansible_user={USER}") for name in "ab")
    (folder / "hosts.ini").write_text(f"[all]\n{hosts}[all:vars]\nansible_become=true\n{more}")
    return ["-i", str(folder / "hosts.ini"), "--become-password-file", str(folder / "password")]


def test_commands_and_batches_run_as_root_and_errors_are_their_own(sshd: Sshd) -> None:
    one = Ssh(host(sshd, Password(SECRET)))
    assert one.open().uid == 0
    done = one.run(("sh", "-c", "id -u; echo $QOPS_ROOT; echo bad >&2; cat; exit 3"), timeout=5)
    assert (done.stdout, done.stderr, done.status) == (b"0\n/somewhere\n", b"bad\n", 3)
    heard = {}
    puts = [Put(0, ("id", "-u"), 5), Put(1, ("sh", "-c", "echo bad >&2; cat; head -c 300000 /dev/zero"), 5)]
    assert one.batch(puts, seconds=10, take=lambda number, at, answer: heard.update({number: answer}))
    assert (heard[0].stdout, heard[1].stderr, len(heard[1].stdout)) == (b"0\n", b"bad\n", 300_000)
    one.stop()


def test_a_password_that_sudo_does_not_ask_for_is_not_given(sshd: Sshd) -> None:
    # Root needs none, and what was sent all the same would be the script's input.
    one = Ssh(replace(sshd.host, become=True, password=Password(SECRET)))
    assert one.run(("cat",), timeout=5).stdout == b""
    assert one.open().uid == 0
    one.stop()


def test_a_wrong_password_is_tried_once_on_a_host_and_on_no_more_than_two(sshd: Sshd) -> None:
    wrong = Password("letmein")
    errors = {}

    def look(name: str) -> None:
        one = Ssh(host(sshd, wrong, name))
        with pytest.raises(TransportError) as caught:
            one.open()
        with pytest.raises(TransportError):
            one.run(("true",), timeout=5)
        errors[name] = caught.value.message

    threads = [threading.Thread(target=look, args=(name,)) for name in "abcdefgh"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    refused = sorted(name for name, said in errors.items() if said == f"{name}: sudo refuses the password")
    assert len(refused) == 2
    others = [said for name, said in errors.items() if name not in refused]
    assert len(others) == 6
    assert all("is not tried here: " in said and " refused it, and no host has taken it" in said for said in others)


def test_hosts_that_follow_one_that_took_it_are_judged_alone(sshd: Sshd) -> None:
    password = Password(SECRET)
    Ssh(host(sshd, password)).open()
    for name in "abc":
        password.refused(name)
    assert Ssh(host(sshd, password)).open().uid == 0


def test_without_a_password_the_error_says_how_to_give_one(sshd: Sshd) -> None:
    with pytest.raises(TransportError) as caught:
        Ssh(host(sshd, None)).open()
    assert "does not become root by `sudo -n`: sudo: a password is required" in caught.value.message
    assert "-K" in caught.value.hint


def test_it_reaches_no_process_list_no_log_no_bundle_and_no_report(
    sshd: Sshd, tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    seen: set[bytes] = set()
    over = threading.Event()

    def watch() -> None:
        while not over.is_set():
            for file in (*Path("/proc").glob("[0-9]*/cmdline"), *Path("/proc").glob("[0-9]*/environ")):
                try:
                    seen.add(file.read_bytes())
                except OSError:
                    continue
            time.sleep(0.01)

    watcher = threading.Thread(target=watch)
    watcher.start()
    caplog.set_level(logging.DEBUG)
    bundles, reach = tmp_path / "bundles", asked(sshd, tmp_path)
    try:
        assert run(["--debug", "collect", "host", *reach, "-o", str(bundles), "--seconds", "6"]) == 0
        run(["diagnose", "host", *reach, "--seconds", "6", "--format", "json", "-v"])
    finally:
        over.set()
        watcher.join()
    out, err = capsys.readouterr()
    assert {one["verdict"] for one in json.loads(out)["hosts"]} & {"healthy", "undetermined", "fault"}
    assert any(b"sudo\0-S" in command for command in seen), "the watcher saw no sudo at work"
    assert sorted(file.name for file in bundles.iterdir()) == ["a.tar.gz", "b.tar.gz"]
    written = [
        subprocess.run(["tar", "xzOf", file], capture_output=True, check=True).stdout for file in bundles.iterdir()
    ]
    assert all(len(one) > 1000 for one in written)
    for text in (out.encode(), err.encode(), caplog.text.encode(), *written, *seen):
        assert SECRET.encode() not in text
    assert SECRET not in repr(host(sshd, Password(SECRET)))


def test_the_inventorys_own_password_comes_before_the_one_that_is_given(sshd: Sshd, tmp_path: Path) -> None:
    right = asked(sshd, tmp_path, file="wrong", more=f"ansible_become_password='{SECRET}'\n")
    assert run(["collect", "host", *right, "-o", f"{tmp_path}/out/", "--seconds", "4", "-q"]) == 0
    assert {file.name for file in (tmp_path / "out").iterdir()} == {"a.tar.gz", "b.tar.gz"}


def test_a_wrong_password_on_the_command_line(sshd: Sshd, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", "host", *asked(sshd, tmp_path, file="wrong"), "--seconds", "3"]) == UNREACHABLE
    assert "a: unreachable: sudo refuses the password; try: it was tried once" in capsys.readouterr().out


def test_files_and_options_that_cannot_be(sshd: Sshd, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reach = asked(sshd, tmp_path)
    assert run(["diagnose", *reach[2:]]) == USAGE
    assert run(["diagnose", *reach, "-K"]) == USAGE
    assert run(["diagnose", *reach[:2], "-K"]) == USAGE
    assert "there is no terminal" in capsys.readouterr().err
    for content, said in (("", "is empty"), ("a\nb", "has several lines"), ("$ANSIBLE_VAULT;1.1", "is encrypted")):
        (tmp_path / "password").write_text(content)
        assert run(["diagnose", *reach]) == USAGE
        assert said in capsys.readouterr().err
    (tmp_path / "password").unlink()
    assert run(["diagnose", *reach]) == USAGE
    (tmp_path / "password").write_text(SECRET)
    (tmp_path / "hosts.ini").write_text("a\n")
    assert run(["diagnose", *reach]) == USAGE
    assert "no host is to become root" in capsys.readouterr().err


def test_hosts_with_the_same_password_share_what_is_known_of_it() -> None:
    alike = [Host(n, n, become=True, password=Password("same")) for n in "ab"]
    own, none, plain = (
        Host("c", "c", become=True, password=Password("own")),
        Host("d", "d", become=True),
        Host("e", "e"),
    )
    a, b, c, d, e = with_passwords([*alike, own, none, plain], lambda: "given")
    assert a.password is b.password is not c.password
    assert (d.password and d.password.text, e.password) == ("given", None)
