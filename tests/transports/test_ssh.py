import os
import shlex
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from loopback import Sshd, free_port, key_pair, need_sshd, relay, running

from qops.collection import collect
from qops.errors import TransportError
from qops.probes.base import Command, Probe
from qops.transports import far, ssh, streams
from qops.transports.base import Completed, lines
from qops.transports.batch_script import Put
from qops.transports.ssh import Ssh

pytestmark = need_sshd


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    server = Sshd(tmp_path_factory.mktemp("sshd"))
    yield server
    server.stop()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Sshd]]:
    """Start a server of this test's own, with lines of configuration."""
    begun: list[Sshd] = []

    def one(*lines: str) -> Sshd:
        begun.append(Sshd(tmp_path / f"sshd{len(begun)}", *lines))
        return begun[-1]

    yield one
    for server in begun:
        server.stop()


@pytest.fixture
def host(sshd: Sshd) -> Iterator[Ssh]:
    one = Ssh(sshd.host)
    yield one
    one.stop()


def refused(one: Ssh) -> TransportError:
    with pytest.raises(TransportError) as caught:
        one.open()
    assert caught.value.exit_code == 4
    assert caught.value.hint
    return caught.value


def test_output_errors_and_status_come_back_apart(host: Ssh) -> None:
    done = host.run(("sh", "-c", "echo out; echo err >&2; exit 3"), timeout=5)
    assert (done.stdout, done.stderr, done.status, done.failure) == (b"out\n", b"err\n", 3, "")


def test_words_arrive_as_they_are_given(host: Ssh) -> None:
    words = ("a b", "'", '"', "$HOME", "`id`", "\n", "*", "{x}", "\\", "é", "!")
    done = host.run(("printf", "%s|", *words), timeout=5)
    assert done.stdout.decode() == "".join(f"{w}|" for w in words)
    assert host.run(("echo", "a\0b"), timeout=5).failure == "failed"


def test_the_environment_is_english_and_has_no_input(host: Ssh) -> None:
    done = host.run(("sh", "-c", "echo $LC_ALL; read x || echo none; pwd; echo $PATH"), timeout=5)
    first, second, third, path = done.stdout.decode().split()
    assert (first, second, third) == ("C.UTF-8", "none", "/")
    assert "/usr/sbin" in path


def test_bytes_that_are_no_text_come_back_as_they_are_and_command_nothing(host: Ssh) -> None:
    done = host.run(("printf", "a\\377\\000\\033]0;title\\007\\033[2Jb\\n"), timeout=5)
    assert done.stdout == b"a\xff\x00\x1b]0;title\x07\x1b[2Jb\n"
    assert lines(done.stdout) == ("a\ufffdb",)


def test_a_missing_program_has_the_shells_status(host: Ssh) -> None:
    assert host.run(("no-such-program-here",), timeout=5).status == 127


@pytest.mark.parametrize("limit", ["timeout -k 1", "setsid", ""])
def test_a_command_that_hangs_is_ended_here_and_there(host: Ssh, limit: str) -> None:
    host._far = replace(host.open(), limit=limit)
    begun = time.monotonic()
    word = f"61.{os.getpid()}{len(limit)}"
    done = host.run(("sleep", word), timeout=0.7)
    assert (done.failure, done.status) == ("timeout", None)
    assert time.monotonic() - begun < 2
    assert not running(f"sleep {word}")


def test_what_was_said_before_the_time_ran_out_is_kept_and_children_end_too(host: Ssh) -> None:
    word = f"62.{os.getpid()}"
    done = host.run(("sh", "-c", f"trap '' TERM; echo begun; sleep {word} & sleep {word}"), timeout=0.7)
    assert (done.stdout, done.failure) == (b"begun\n", "timeout")
    assert not running(f"sleep {word}")


def test_a_background_process_that_holds_the_output_is_not_waited_for(host: Ssh) -> None:
    begun = time.monotonic()
    done = host.run(("sh", "-c", "sleep 4 & echo done"), timeout=9)
    assert (done.stdout, done.status) == (b"done\n", 0)
    assert time.monotonic() - begun < 3


def test_stop_ends_what_runs(sshd: Sshd) -> None:
    one = Ssh(sshd.host)
    one.open()
    threading.Timer(0.5, one.stop).start()
    word = f"63.{os.getpid()}"
    begun = time.monotonic()
    done = one.run(("sleep", word), timeout=30)
    assert (done.failure, done.stderr) == ("failed", b"stopped")
    assert time.monotonic() - begun < 5
    assert one.lost == ""
    assert not running(f"sleep {word}")


def test_huge_output_is_cut_and_counted(host: Ssh, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "OUTPUT", 100_000)
    done = host.run(("sh", "-c", "yes 123456789 | head -n 2000000"), timeout=30)
    assert done.status == 0
    assert (len(done.stdout), done.discarded) == (100_000, 20_000_000 - 100_000)


def test_many_questions_at_once_stay_under_sshds_limit(host: Ssh) -> None:
    answers: list[bytes] = []

    def put(number: int) -> None:
        answers.append(host.run(("sh", "-c", f"sleep 0.2; echo {number}"), timeout=20).stdout)

    threads = [threading.Thread(target=put, args=(n,)) for n in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(int(a) for a in answers) == list(range(24))


def test_a_host_that_takes_fewer_sessions_is_asked_again(start: Callable[..., Sshd]) -> None:
    one = Ssh(start("MaxSessions 1").host)
    one.open()
    slow = threading.Thread(target=lambda: one.run(("sleep", "0.7"), timeout=5))
    slow.start()
    time.sleep(0.3)
    assert one.run(("echo", "hi"), timeout=5).stdout == b"hi\n"
    slow.join()
    one.stop()


def test_files_are_read_whole_and_what_is_no_file_is_not(host: Ssh, tmp_path: Path) -> None:
    (tmp_path / "a b'").write_bytes(b"\x7fELF\0\1")
    os.mkfifo(tmp_path / "pipe")
    assert host.read(str(tmp_path / "a b'"), timeout=5).stdout == b"\x7fELF\0\1"
    assert host.read("/proc/self/status", timeout=5).stdout.startswith(b"Name:")
    assert host.read(str(tmp_path / "none"), timeout=5).failure == "missing"
    for path in (tmp_path, tmp_path / "pipe", "/dev/zero"):
        done = host.read(str(path), timeout=5)
        assert (done.failure, done.status) == ("failed", None)
    assert host.read("/a\0b", timeout=5).failure == "failed"


def test_a_file_over_the_limit_is_cut_and_counted(host: Ssh, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ssh, "OUTPUT", 1000)
    (tmp_path / "big").write_bytes(b"x" * 1500)
    done = host.read(str(tmp_path / "big"), timeout=5)
    assert (len(done.stdout), done.stderr, done.discarded) == (1000, b"", 500)


def test_a_practice_root_comes_first_there_too(start: Callable[..., Sshd], tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "proc/driver/nvidia").mkdir(parents=True)
    (root / "proc/driver/nvidia/version").write_text("NVRM version: practice\n")
    one = Ssh(start(f"SetEnv QOPS_ROOT={root}").host)
    assert one.read("/proc/driver/nvidia/version", timeout=5).stdout == b"NVRM version: practice\n"
    assert one.read("/proc/uptime", timeout=5).failure == ""
    assert one.run(("sh", "-c", "echo $QOPS_ROOT"), timeout=5).stdout.decode().strip() == str(root)
    one.stop()


def test_a_key_that_is_not_known_is_refused_with_its_fingerprint(sshd: Sshd, tmp_path: Path) -> None:
    error = refused(Ssh(sshd.named("far", known_hosts=(str(tmp_path / "empty"),))))
    assert f"far (127.0.0.1:{sshd.port}) shows a host key that is in no file of known hosts" in error.message
    assert "SHA256:" in error.message
    assert f"ssh -o UserKnownHostsFile={tmp_path / 'empty'} -i {sshd.host.key} -p {sshd.port}" in error.hint


def test_a_wrong_key_is_refused_with_the_command_that_forgets_it(sshd: Sshd, tmp_path: Path) -> None:
    other = key_pair(tmp_path / "other").split()
    known = tmp_path / "known"
    known.write_text(f"[127.0.0.1]:{sshd.port} {other[0]} {other[1]}\n")
    error = refused(Ssh(sshd.named("far", known_hosts=(str(known),))))
    assert "shows another host key than the known one" in error.message
    assert f"ssh-keygen -f {known} -R '[127.0.0.1]:{sshd.port}'" in error.hint


def test_a_jump_hosts_key_is_checked_too(sshd: Sshd, tmp_path: Path) -> None:
    jump = f"{sshd.host.user}@127.0.0.1:{sshd.port}"
    one = Ssh(sshd.named("far", jump=jump))
    assert one.run(("echo", "through"), timeout=5).stdout == b"through\n"
    one.stop()
    error = refused(Ssh(sshd.named("far", jump=jump, known_hosts=(str(tmp_path / "empty"),))))
    assert error.message.startswith(f"far: jump host 127.0.0.1:{sshd.port} shows a host key")


def test_a_proxy_command_is_used(sshd: Sshd, tmp_path: Path) -> None:
    one = Ssh(sshd.named("far", proxy_command=relay(tmp_path / "relay.py")))
    assert one.run(("echo", "through"), timeout=5).stdout == b"through\n"
    one.stop()


def test_ssh_config_says_what_the_inventory_does_not(sshd: Sshd, tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text(
        f"Host practice\n  HostName 127.0.0.1\n  Port {sshd.port}\n  User {sshd.host.user}\n"
        f"  IdentityFile {sshd.host.key}\n  UserKnownHostsFile {sshd.known_hosts}\n"
    )
    one = Ssh(replace(sshd.host, address="practice", port=0, user="", key="", known_hosts=(), config=str(config)))
    assert one.run(("echo", "hi"), timeout=5).stdout == b"hi\n"
    one.stop()


def test_a_key_that_does_not_open_it(sshd: Sshd, tmp_path: Path) -> None:
    key_pair(tmp_path / "wrong")
    key_pair(tmp_path / "locked", "long passphrase")
    for key in ("wrong", "locked"):
        error = refused(Ssh(sshd.named("far", key=str(tmp_path / key))))
        assert f"does not let {sshd.host.user} in" in error.message
        assert error.hint.startswith("see which keys are offered: ssh ")
    assert "is not there" in refused(Ssh(sshd.named("far", key=str(tmp_path / "none")))).message


def test_a_port_where_nothing_listens(sshd: Sshd) -> None:
    error = refused(Ssh(sshd.named("far", port=free_port())))
    assert "cannot be reached: connection refused" in error.message


def test_a_name_that_has_no_address(sshd: Sshd) -> None:
    error = refused(Ssh(sshd.named("far", address="no-such-host.invalid")))
    assert "there is no address for this name" in error.message
    assert "set ansible_host" in error.hint


def test_something_that_is_no_sshd(sshd: Sshd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ssh, "CONNECT", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        begun = time.monotonic()
        error = refused(Ssh(sshd.named("far", port=silent.getsockname()[1])))
        assert time.monotonic() - begun < 5
        assert "does not greet as sshd does within 1 s" in error.message


def test_a_host_that_refused_once_is_not_tried_again(sshd: Sshd) -> None:
    one = Ssh(sshd.named("far", port=free_port()))
    assert refused(one) is refused(one)
    with pytest.raises(TransportError):
        collect(one, [Probe("p", str, lambda t: None, lambda t: False, (Command(("true",), ""),))], seconds=3)


def test_a_connection_that_is_cut_keeps_what_came_back(sshd: Sshd) -> None:
    one = Ssh(sshd.host)
    assert one.run(("echo", "before"), timeout=5).status == 0
    cut = (
        "echo begun; sleep 0.3; p=$$; while ! grep -q '^Name:.sshd' /proc/$p/status; do "
        "p=$(sed -n 's/^PPid:.//p' /proc/$p/status); done; kill -9 $p; sleep 5"
    )
    done = one.run(("sh", "-c", cut), timeout=5)
    assert (done.stdout, done.failure) == (b"begun\n", "failed")
    assert done.stderr == b"the connection to far was lost"
    assert one.lost == "the connection to far was lost"
    begun = time.monotonic()
    assert one.run(("echo", "after"), timeout=5).failure == "failed"
    assert time.monotonic() - begun < 1
    one.stop()


def test_a_login_shell_that_talks_first_is_not_taken_for_the_answer(start: Callable[..., Sshd]) -> None:
    one = Ssh(start("""ForceCommand echo "Welcome! qops 0 nonsense"; eval "$SSH_ORIGINAL_COMMAND\"""").host)
    assert one.run(("echo", "hi"), timeout=5).stdout == b"hi\n"
    one.stop()


def test_a_host_without_a_shell_says_so(start: Callable[..., Sshd]) -> None:
    error = refused(Ssh(start("ForceCommand echo 'This account is \x1b[31mclosed'; exit 1").host))
    assert error.message.endswith("gets no POSIX shell there: This account is closed")


@pytest.mark.parametrize("sudo", ["echo 'sudo: a password is required' >&2; exit 1", ""])
def test_a_user_who_may_not_become_root(start: Callable[..., Sshd], tmp_path: Path, sudo: str) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, body in (("id", "echo 1000"), ("sudo", sudo)):
        if body:
            (tools / name).write_text(f"#!/bin/sh\n{body}\n")
            (tools / name).chmod(0o755)
    error = refused(Ssh(replace(start(f"SetEnv PATH={tools}").host, become=True)))
    assert "does not become root by `sudo -n`: " in error.message
    assert ("a password is required" if sudo else "not found") in error.message
    assert "ansible_become: false" in error.hint


def test_become_goes_through_sudo_and_keeps_the_practice_root(start: Callable[..., Sshd], tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "id").write_text("#!/bin/sh\necho 1000\n")
    (tools / "sudo").write_text(f'#!/bin/sh\necho "$1 $2 $3" >>{tmp_path}/asked\nshift 2\nunset QOPS_ROOT; exec "$@"\n')
    for tool in tools.iterdir():
        tool.chmod(0o755)
    server = start(f"SetEnv PATH={tools}:/usr/bin:/bin QOPS_ROOT=/somewhere")
    one = Ssh(replace(server.host, become=True))
    assert one.run(("sh", "-c", 'echo "it\'s $QOPS_ROOT"'), timeout=5).stdout == b"it's /somewhere\n"
    assert (tmp_path / "asked").read_text().splitlines()[0] == "-n -- env"
    one.stop()


def test_the_script_for_the_far_side_is_quoted_once_for_each_shell() -> None:
    line = far.login("echo 'a b'", become=False)
    assert shlex.split(line) == ["exec", "/bin/sh", "-c", "echo 'a b'"]


def all_at_once(one: Ssh, *puts: Put, seconds: float = 20) -> dict[int, Completed]:
    heard: dict[int, Completed] = {}
    assert one.batch(puts, seconds=seconds, take=lambda number, at, done: heard.update({number: done}))
    return heard


def test_many_questions_take_one_session_and_the_slow_ones_cost_no_answer(host: Ssh) -> None:
    slow = (Put(n, ("sleep", "60"), 1) for n in range(4))
    heard = all_at_once(host, *slow, *(Put(n, ("echo", f"it's {n}"), 5) for n in range(4, 50)))
    assert [heard[n].failure for n in range(4)] == ["timeout"] * 4
    assert [heard[n].stdout.decode() for n in range(4, 50)] == [f"it's {n}\n" for n in range(4, 50)]


def test_a_session_that_ends_as_it_is_opened_costs_no_answer(host: Ssh, monkeypatch: pytest.MonkeyPatch) -> None:
    opened, ended = host._channel, []

    def ends_at_once(until: float) -> Any:
        channel = opened(until)
        if not ended:
            channel.close()
            ended.append(channel)
        return channel

    monkeypatch.setattr(host, "_channel", ends_at_once)
    assert host.run(("echo", "here"), timeout=20).stdout == b"here\n"
    assert len(ended) == 1
    ended.clear()
    assert all_at_once(host, Put(0, ("echo", "here"), 5))[0].stdout == b"here\n"
    assert len(ended) == 1


def test_a_long_answer_arrives_whole(host: Ssh) -> None:
    heard = all_at_once(host, Put(0, ("sh", "-c", "yes 123456789 | head -n 3000000"), 20))
    assert heard[0].stdout == b"123456789\n" * 3_000_000


def test_stop_ends_what_was_asked_at_once(sshd: Sshd) -> None:
    one = Ssh(sshd.host)
    one.open()
    threading.Timer(1, one.stop).start()
    assert all_at_once(one, Put(0, ("sh", "-c", "sleep 4716.31 & sleep 4716.31"), 60), seconds=60) == {}
    assert one.lost == ""
    assert not running("4716.31")


def test_a_connection_that_is_cut_keeps_what_came_back_of_all(sshd: Sshd) -> None:
    one = Ssh(sshd.host)
    before = set(Path("/run").glob("qops.*"))
    cut = (
        "sleep 0.5; p=$$; while ! grep -q '^Name:.sshd' /proc/$p/status; do "
        "p=$(sed -n 's/^PPid:.//p' /proc/$p/status); done; kill -9 $p; sleep 9"
    )
    asked = Probe(
        "p", str, lambda t: None, lambda t: False, (Command(("echo", "here"), ""), Command(("sh", "-c", cut), ""))
    )
    found = collect(one, [asked], seconds=20)
    assert [text.lines for text in found.texts] == [("here",)]
    assert [gap.reason for gap in found.gaps] == ["the host ended the look before it answered"]
    assert one.lost == "the connection to far was lost"
    left = set(Path("/run").glob("qops.*")) - before  # those of other tests, too, which make more of them
    for _ in range(100):
        left &= set(Path("/run").glob("qops.*"))
        if not left:
            return
        time.sleep(0.1)
    raise AssertionError("answers were left on the host")


def test_after_what_may_have_rebooted_the_host_the_next_question_connects_anew(host: Ssh) -> None:
    def connection() -> bytes:
        return host.run(("sh", "-c", 'echo "$SSH_CONNECTION"'), timeout=20).stdout

    first = connection()
    assert first and connection() == first
    host.renew()
    second = connection()
    assert second and second != first
    assert host.lost == ""
