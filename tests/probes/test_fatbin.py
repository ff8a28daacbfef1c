import io

import pytest
from fat_binaries import entry, fatbin, library

from qops.probes.fatbin import targets


def test_the_targets_of_a_library() -> None:
    data = library("sm_90", "sm_90a", "compute_120f") + fatbin("sm_90", "sm_121a")
    assert targets(io.BytesIO(data)) == {"sm_90": 2, "sm_90a": 1, "compute_120f": 1, "sm_121a": 1}


def test_a_library_without_any() -> None:
    assert targets(io.BytesIO(b"\x7fELF" + b"\0" * 10_000)) == {}


@pytest.mark.parametrize("size", [*range(1, 120, 7), 4 << 20, (4 << 20) - 5])
def test_where_a_fat_binary_lies_makes_no_difference(size: int) -> None:
    assert targets(io.BytesIO(b"\0" * size + fatbin("sm_120"))) == {"sm_120": 1}


class _Drops(io.BytesIO):
    """A stream that gives a few bytes at a time, as a pipe does."""

    def read(self, size: int | None = -1) -> bytes:
        return super().read(min(size, 11) if size and size > 0 else 11)


def test_a_stream_that_comes_in_drops() -> None:
    assert targets(_Drops(library("sm_100", "compute_120"))) == {"sm_100": 1, "compute_120": 1}


def test_what_is_cut_short_or_damaged_ends_without_harm() -> None:
    whole = fatbin("sm_90", "sm_120")
    for length in range(len(whole)):
        assert set(targets(io.BytesIO(whole[:length]))) <= {"sm_90", "sm_120"}
    assert targets(io.BytesIO(whole[:16] + b"\xff" * 500 + fatbin("sm_80"))) in ({}, {"sm_80": 1})
    assert len(entry("sm_90")) == 64 + 904
