"""Makes the helpers of this folder importable, and settings common to all tests."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent / "lab"))
sys.path.insert(0, str(Path(__file__).parent / "render"))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what needs the lab before its fixtures, of whatever scope, ask for Docker."""
    if item.get_closest_marker("lab"):
        from practice_lab import why_not

        if why := why_not():
            pytest.skip(why)
