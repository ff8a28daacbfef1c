import pytest
from judging import text
from mangling import parses_anything

from qops.evidence.gpu import DriverModule
from qops.probes import driver

OPEN = """\
NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  575.57.08  Release Build  (user@build)
GCC version:  gcc version 13.3.0
"""
CLOSED = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.82.01  Wed Oct 27 21:21:55 UTC 2021\n"
LOADED = "[   12.345678] NVRM: loading NVIDIA UNIX Open Kernel Module for aarch64  580.95.05  Release Build\n"
MISMATCH = """\
[  400.000001] NVRM: API mismatch: the client has the version 580.95.05, but
               NVRM: this kernel module has the version 575.57.08.  Please
"""
SYSFS = "$ cat /sys/module/nvidia/version\n570.86.15\n"
SAMPLES = (OPEN, CLOSED, LOADED, MISMATCH, SYSFS)


def parse(*contents: str) -> DriverModule:
    texts = [text(content) for content in contents]
    assert all(driver.PROBE.recognise(t) for t in texts)
    found = driver.parse(texts)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("content", "version", "is_open"),
    [
        (OPEN, "575.57.08", True),
        (CLOSED, "470.82.01", False),
        (LOADED, "580.95.05", True),
        (MISMATCH, "575.57.08", None),
        (SYSFS, "570.86.15", None),
        ("/sys/module/nvidia/version:570.86.15\n", "570.86.15", None),
    ],
)
def test_version(content: str, version: str, is_open: bool | None) -> None:
    found = parse(content)
    assert (found.version, found.open_kernel) == (version, is_open)


def test_own_file_comes_before_the_log() -> None:
    assert parse(LOADED, OPEN).version == "575.57.08"


def test_last_load_counts() -> None:
    assert parse(LOADED + LOADED.replace("580.95.05", "590.44.01")).version == "590.44.01"


@pytest.mark.parametrize("content", ["570.86.15\n", "NVRM: GPU at PCI:0000:06:00: GPU-1\n", "NVRM version: none\n"])
def test_other_text_is_nothing(content: str) -> None:
    assert driver.parse([text(content)]) is None


def test_any_text() -> None:
    parses_anything(driver.PROBE, SAMPLES)
