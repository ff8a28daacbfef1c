import os
from pathlib import Path

import pytest

from qops import whole_file


def test_a_file_is_replaced_with_the_rights_that_are_asked_for(tmp_path: Path) -> None:
    target = tmp_path / "said"
    target.write_bytes(b"old")
    whole_file.replace(target, b"new", 0o600)
    assert (target.read_bytes(), target.stat().st_mode & 0o777) == (b"new", 0o600)
    before = os.umask(0o027)
    try:
        whole_file.replace(target, b"newer")
    finally:
        os.umask(before)
    assert (target.read_bytes(), target.stat().st_mode & 0o777) == (b"newer", 0o640)


def test_what_cannot_be_written_leaves_what_was_there_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "said"
    target.write_bytes(b"old")

    def full(number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        whole_file.replace(target, b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["said"]
    assert target.read_bytes() == b"old"
