"""The ring of evidence: bounded, in order, and whole whatever interrupts it."""

import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from reports import SUPPRESSED, finding, host

from qops import ring
from qops.report import Verdict

AT = datetime(2026, 11, 30, 10, 0, tzinfo=UTC)


def _put(folder: Path, minutes: int, size: int = 100, tail: str = "-healthy") -> Path:
    path = ring.place(folder, AT + timedelta(minutes=minutes))
    path = path.with_name(path.name.replace(".tar.gz", f"{tail}.tar.gz"))
    path.write_bytes(b"x" * size)
    return path


def test_the_oldest_go_first_and_the_newest_stays_whatever_its_size(tmp_path: Path) -> None:
    paths = [_put(tmp_path, minute) for minute in range(5)]
    assert ring.prune(tmp_path, 250) == 200
    assert [look.path for look in ring.looks(tmp_path)] == paths[3:]
    huge = _put(tmp_path, 9, 10_000)
    assert ring.prune(tmp_path, 250) == 10_000
    assert [look.path for look in ring.looks(tmp_path)] == [huge]


def test_what_is_not_its_own_is_left_alone(tmp_path: Path) -> None:
    _put(tmp_path, 0)
    foreign = [tmp_path / "notes.txt", tmp_path / "20261399T250000Z-fault.tar.gz", tmp_path / "host.tar.gz"]
    for path in foreign:
        path.write_bytes(b"y" * 1000)
    elsewhere = tmp_path / "20261130T110000Z-fault.tar.gz"
    elsewhere.symlink_to(foreign[0])
    assert len(ring.looks(tmp_path)) == 1
    ring.prune(tmp_path, 1)
    assert all(path.exists() for path in (*foreign, elsewhere))


def test_parts_of_a_killed_look_go_and_those_of_one_that_runs_stay(tmp_path: Path) -> None:
    old, fresh = (tmp_path / f".20261130T1{n}0000Z.tar.gz.abc.part" for n in (0, 1))
    old.write_bytes(b"x")
    fresh.write_bytes(b"x")
    os.utime(old, (time.time() - 2 * ring.FORGOTTEN,) * 2)
    ring.prune(tmp_path, 1000)
    assert not old.exists() and fresh.exists()


def test_a_look_that_nobody_judged_is_there(tmp_path: Path) -> None:
    path = _put(tmp_path, 0, tail="")
    assert [(look.path, look.verdict) for look in ring.looks(tmp_path)] == [(path, "")]


@pytest.mark.parametrize(
    ("report", "name"),
    [
        (host(finding()), "20261130T100000Z-fault-NCL002.tar.gz"),
        (host(verdict=Verdict.HEALTHY), "20261130T100000Z-healthy.tar.gz"),
        (host(finding(suppressed=SUPPRESSED), verdict=Verdict.HEALTHY), "20261130T100000Z-healthy.tar.gz"),
    ],
)
def test_the_verdict_stands_in_the_name(report: object, name: str, tmp_path: Path) -> None:
    path = ring.name(_put(tmp_path, 0, tail=""), report)  # type: ignore[arg-type]
    assert path.name == name
    (look,) = ring.looks(tmp_path)
    assert (look.path, look.at) == (path, AT)


def test_stretches_end_where_the_verdict_or_the_finding_changes(tmp_path: Path) -> None:
    tails = ["-healthy", "-healthy", "-fault-HST008", "-fault-HST009", "-fault-HST009", "-healthy"]
    for minute, tail in enumerate(tails):
        _put(tmp_path, minute, tail=tail)
    groups = ring.stretches(ring.looks(tmp_path))
    assert [(len(g), g[0].verdict, g[0].code) for g in groups] == [
        (2, "healthy", ""),
        (1, "fault", "HST008"),
        (2, "fault", "HST009"),
        (1, "healthy", ""),
    ]
