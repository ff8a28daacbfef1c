"""A drill: what an answer is worth, and what a practice host goes through."""

from pathlib import Path

import msgspec
import pytest
from practice_lab import Qops, why_not

from qops.errors import UsageError
from qops.lab import drill
from qops.lab.errors import LabError
from qops.lab.place import Place


def test_points_fall_with_time_and_with_wrong_answers() -> None:
    assert drill.points(10, 0) == drill.points(drill.FREE_S + 59, 0) == 100
    assert drill.points(drill.FREE_S + 60, 0) == 95
    assert drill.points(10, 2) == 60
    assert drill.points(100_000, 0) == 0


def test_a_damaged_record_is_said_and_an_answer_needs_a_drill(tmp_path: Path) -> None:
    place = Place("it", tmp_path)
    with pytest.raises(UsageError, match="no drill is on"):
        drill.answer(place, "gpu-fell-off-bus", print)
    (tmp_path / "drill.json").write_text("{")
    with pytest.raises(LabError, match="is damaged"):
        drill.current(place)


def test_a_wrong_answer_is_counted_and_a_name_that_no_fault_has_is_not(tmp_path: Path) -> None:
    place = Place("it", tmp_path)
    (tmp_path / "drill.json").write_bytes(msgspec.json.encode(drill.Drill("whale", "shm-too-small", 0.0)))
    assert not drill.answer(place, "gpu-fell-off-bus", print).right
    with pytest.raises(UsageError, match="no fault"):
        drill.answer(place, "gpu-fell-of-bus", print)
    on = drill.current(place)
    assert on is not None and on.wrong == 1


@pytest.mark.skipif(bool(why_not()), reason=why_not() or "")
def test_a_drill_says_nothing_until_it_is_answered(tiny: Qops) -> None:
    told = tiny("drill", "shm-too-small", "--host", "tiny")
    assert "shm" not in told and "Something is wrong with tiny" in told
    assert "shm" not in tiny("status") and "a drill" in tiny("status")
    assert tiny.run("drill")[0] == 2
    status, out, _ = tiny.run("drill", "answer", "gpu-fell-off-bus")
    assert (status, "80 points are left" in out) == (1, True)
    assert "right: shm-too-small" in tiny("drill", "answer", "shm-too-small")
    assert "drill" not in tiny("status") and "shm" not in tiny("status")
