"""The script that asks all at once, run by the shells that hosts have."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from loopback import running

from qops.errors import TransportError
from qops.evidence.clock import HostClock
from qops.transports import batch, batch_script
from qops.transports.base import Completed
from qops.transports.batch import Frames
from qops.transports.batch_script import Put, script
from qops.transports.far import reading

Monkey = pytest.MonkeyPatch
MARK = "mark-83ac"
SHELLS = [["dash"], ["bash", "--posix"], ["busybox", "sh"]]


@pytest.fixture(params=SHELLS, ids=" ".join)
def shell(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: Monkey) -> list[str]:
    """The shell that takes the script, which is also the one that it finds as `sh`."""
    words: list[str] = request.param
    found = shutil.which(words[0])
    if found is None:
        pytest.skip(f"there is no {words[0]} here; to run this: apt-get install {words[0]}")
    folder = tmp_path_factory.mktemp("bin")
    (folder / "sh").symlink_to(found)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return words


ECHOES = tuple(Put(n, ("echo", "here"), 5) for n in range(5, 9))


def ask(shell: Sequence[str], *puts: Put, seconds: float = 20, before: str = "") -> dict[int, Completed]:
    done = subprocess.run(
        [*shell, "-s"], input=before.encode() + script(puts, MARK, seconds, held=False).encode(), capture_output=True
    )
    assert done.returncode == 0
    assert done.stderr == b""
    frames = Frames(puts, MARK)
    return {number: answer for number, _, answer in frames.take(done.stdout)}


def test_each_question_has_its_own_outcome(shell: list[str], tmp_path: Path) -> None:
    odd = tmp_path / "it's odd"
    odd.write_bytes(b"\x80\xff\x00line\nno end")
    done = ask(
        shell,
        Put(0, ("sh", "-c", "echo 'a  b'; echo wrong >&2; exit 3"), 5),
        Put(1, reading(str(odd), 1000), 5, reads=True),
        Put(2, ("no-such-program",), 5),
        Put(3, reading(str(tmp_path / "none"), 1000), 5, reads=True),
        Put(4, ("cat",), 5),
        Put(5, ("printf", "\\n\\n"), 5),
    )
    assert [(done[n].status, done[n].failure) for n in range(6)] == [
        (3, ""), (0, ""), (127, ""), (None, "missing"), (0, ""), (0, ""),
    ]  # fmt: skip
    assert [done[n].stdout for n in range(6)] == [
        b"a  b\n", b"\x80\xff\x00line\nno end", b"", b"", b"", b"\n\n",
    ]  # fmt: skip
    assert done[0].stderr == b"wrong\n"
    assert b"no-such-program" in done[2].stderr


@pytest.mark.parametrize(
    ("said", "ahead", "within", "zone"),
    [
        (b"1012.500000000+0000", 2.0, 0.5, 0),
        (b"1012.500000000-0330", 2.0, 0.5, -12600),
        (b"1012.N+0200", 2.0, 1.0, 7200),  # busybox: any moment of that second
    ],
)
def test_the_clock_is_that_between_what_was_sent_and_received(
    monkeypatch: pytest.MonkeyPatch, said: bytes, ahead: float, within: float, zone: int
) -> None:
    monkeypatch.setattr(batch.time, "time", lambda: 1011.0)
    frames = Frames([], MARK)
    frames.sent = 1010.0
    assert list(frames.take(b"\n%s begun 12.50 %s\n" % (MARK.encode(), said))) == []
    assert frames.begun and frames.clock == HostClock(ahead, within, 1000.0, zone)


@pytest.mark.parametrize("said", [b"", b"today", b"1.2.3+0000", b"-5.000000000+0000", b"1" * 40])
def test_a_host_that_tells_no_time_has_no_clock_and_is_asked(said: bytes) -> None:
    frames = Frames([], MARK)
    frames.sent = 1010.0
    assert list(frames.take(b"\n%s begun 12.50 %s\n" % (MARK.encode(), said))) == []
    assert frames.begun and frames.clock is None


def test_many_questions_are_all_asked(shell: list[str]) -> None:
    done = ask(shell, *(Put(n, ("echo", str(n)), 5) for n in range(60)))
    assert [done[n].stdout for n in range(60)] == [f"{n}\n".encode() for n in range(60)]


def test_one_that_hangs_costs_no_answer_of_another_and_leaves_nothing(shell: list[str]) -> None:
    hangs = ("sh", "-c", "trap '' TERM; sleep 4711.31 & sleep 4711.31")
    done = ask(shell, Put(0, hangs, 1), *(Put(n, ("echo", "here"), 5) for n in range(1, 12)))
    assert done[0].failure == "timeout"
    assert [done[n].stdout for n in range(1, 12)] == [b"here\n"] * 11
    assert not running("4711.31")


def test_one_that_is_ended_at_its_limit_has_no_answer_and_the_next_are_put(shell: list[str]) -> None:
    done = ask(shell, *(Put(n, ("sh", "-c", "echo half; sleep 4716.31"), 1) for n in range(5)), *ECHOES)
    assert [done[n].failure for n in range(5)] == ["timeout"] * 5
    assert [done[n].stdout for n in range(5, 9)] == [b"here\n"] * 4
    assert not running("4716.31")


def test_a_question_changes_nothing_for_the_next(shell: list[str]) -> None:
    changes = "set -e; set -C; n=7 d=/ w=x; cd /tmp; umask 0; trap 'echo end' EXIT; PATH=; echo() {{ printf no; }}"
    sees = ("sh", "-c", 'echo "$#$1 $PWD $(umask) $-"')
    done = ask(shell, *(Put(n, ("sh", "-c", changes), 5) for n in range(9)), *(Put(n, sees, 5) for n in range(9, 12)))
    assert [done[n].stdout.split()[:3] for n in range(9, 12)] == [[b"0", b"/", b"0077"]] * 3
    assert not any(set(b"eC") & set(done[n].stdout.split()[3]) for n in range(9, 12) if done[n].stdout.split()[3:])


def test_what_is_asked_when_the_time_is_over_is_cut_and_leaves_nothing(shell: list[str]) -> None:
    done = ask(shell, Put(0, ("sleep", "4712.31"), 60), Put(1, ("sleep", "4713.31"), 60, due=8.0), seconds=2)
    assert (done[0].failure, done[1].failure) == ("cut", "cut")
    assert not running("4712.31")


def test_a_sample_is_put_when_it_is_due(shell: list[str]) -> None:
    puts = (Put(0, ("echo", "now"), 5), Put(1, ("echo", "later"), 5, due=1.2))
    out = subprocess.run([*shell, "-s"], input=script(puts, MARK, 9, held=False).encode(), capture_output=True).stdout
    (first, early, now), (second, late, later) = Frames(puts, MARK).take(out)
    assert (first, second, now.stdout, later.stdout) == (0, 1, b"now\n", b"later\n")
    assert late - early >= 1.19


def test_a_series_ends_where_there_is_nothing_to_follow(shell: list[str]) -> None:
    """One that ran out of time says nothing of that, and a series of which there is something goes on."""
    puts = (
        Put(0, ("sh", "-c", "exit 1"), 5),
        Put(1, ("echo", "later"), 5, due=1.2, after=0),
        Put(2, ("echo", "never"), 5, due=500.0, after=0),
        Put(3, ("sleep", "4718.31"), 1),
        Put(4, ("echo", "again"), 5, due=1.2, after=3),
        Put(5, ("no-such-program",), 5),
        Put(6, ("no-such-program",), 5, due=500.0, after=5),
    )
    done = ask(shell, *puts, seconds=600)
    assert [done[n].failure for n in range(7)] == ["", "past", "past", "timeout", "", "", "past"]
    assert done[4].stdout == b"again\n"


def test_an_answer_without_end_is_cut(shell: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "OUTPUT", 64 << 10)
    monkeypatch.setattr(batch_script, "OUTPUT", 64 << 10)
    done = ask(shell, Put(0, ("cat", "/dev/zero"), 9), Put(1, ("echo", "here"), 5))
    assert (len(done[0].stdout) >= 64 << 10, done[0].discarded > 0) == (True, True)
    assert done[1].stdout == b"here\n"


@pytest.mark.parametrize("lacking", ["mktemp", "timeout", "mkfifo"])
def test_a_host_without_what_the_script_needs_says_so(shell: list[str], lacking: str) -> None:
    puts = (Put(0, ("echo", "here"), 5),)
    given = f"{lacking}() {{ return 127; }}\n" + script(puts, MARK, 5, held=False)
    out = subprocess.run([*shell, "-s"], input=given.encode(), capture_output=True).stdout
    frames = Frames(puts, MARK)
    assert not list(frames.take(out))
    assert (frames.begun, frames.refused) == (False, True)


def test_it_ends_with_its_input_and_leaves_nothing(shell: list[str], tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    hangs = ("sh", "-c", f"touch {begun}; sleep 4714.31 & sleep 4714.31")
    text = script((Put(0, hangs, 60), Put(1, ("sleep", "4715.31"), 60, due=3.0)), MARK, 60, held=True)
    with subprocess.Popen([*shell, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        while not begun.exists():
            assert process.poll() is None
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(30) == 0
    assert not running("4714.31")


def test_answers_are_taken_in_pieces_of_any_size() -> None:
    puts = tuple(Put(n, ("true",), 5) for n in range(3))
    out = (
        b"Welcome!\n" + f"{MARK} begun 7.00\n".encode()
        + f"\n{MARK} 1 0 8.50 9.00 whole\n".encode() + b"\nan answer\n" + f"\n{MARK}\n".encode() + f"\n{MARK}\n".encode()
        + f"\n{MARK} 0 2 7.00 7.25 whole\n".encode() + f"\n{MARK}\n".encode() + b"why" + f"\n{MARK}\n".encode()
        + f"\n{MARK} 9 0 7.00 7.25 whole\n".encode() + f"\n{MARK}\n".encode() + f"\n{MARK}\n".encode()
    )  # fmt: skip
    for size in (1, 2, 7, 50, len(out)):
        frames = Frames(puts, MARK)
        heard = [one for at in range(0, len(out), size) for one in frames.take(out[at : at + size])]
        assert heard == [
            (1, 1.5, Completed(b"\nan answer\n", b"", 0, 0.5)),
            (0, 0.0, Completed(b"", b"why", 2, 0.25)),
        ]


def test_what_never_ends_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "OUTPUT", 1000)
    monkeypatch.setattr(batch, "ERRORS", 1000)
    monkeypatch.setattr(batch, "NOISE", 1000)
    frames = Frames((), MARK)
    assert not list(frames.take(b"x" * 2900))
    with pytest.raises(TransportError, match="without end"):
        list(frames.take(b"x" * 200))
