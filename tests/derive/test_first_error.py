"""The time of the first error of a host, by the clock of the machine that asked."""

import calendar

import pytest
from scenes import quote

from qops.derive.first_error import DRIFT, first_error
from qops.evidence.clock import HostClock, measured

BOOT = float(calendar.timegm((2026, 11, 30, 8, 0, 0)))
TEN = float(calendar.timegm((2026, 11, 30, 10, 0, 0)))
CLOCK = HostClock(ahead=30.0, within=0.02, boot=BOOT, zone=0)


@pytest.mark.parametrize(
    ("line", "at", "within"),
    [
        ("2026-11-30T10:00:00.250000000Z (Worker_TP1 pid=7) ERROR it failed", TEN + 0.25, 0.02),
        ("2026-11-30T12:00:00+0200 gpu-1 vllm[7]: RuntimeError: NCCL error", TEN + 0.5, 0.52),
        ("[2026-11-30 10:00:00] gpu-1:7:9 [1] misc/socket.cc:50 NCCL WARN socketProgress: Connection closed", TEN + 0.5, 0.52),
        ("[rank1]:[E1130 10:00:00.126645198 ProcessGroupNCCL.cpp:683] [Rank 1] Watchdog caught", TEN + 0.126645198, 0.02),
        ("(EngineCore pid=7) ERROR 11-30 10:00:00 [core.py:61] EngineCore failed to start.", TEN + 0.5, 0.52),
        ("Nov 30 10:00:00 gpu-1 kernel: NVRM: Xid (PCI:0000:06:00): 79", TEN + 0.5, 0.52),
        ("[ 7200.250000] NVRM: Xid (PCI:0000:06:00): 79, GPU has fallen off the bus.", TEN + 0.25, 0.02 + 7200 * DRIFT),
    ],
)  # fmt: skip
def test_each_logs_own_way_to_write_a_time_is_read(line: str, at: float, within: float) -> None:
    moment = first_error([quote(line)], CLOCK)
    assert moment is not None
    assert moment.at == pytest.approx(at - 30.0, abs=1e-6)
    assert moment.within == pytest.approx(within)


def test_a_time_without_a_zone_counts_only_where_the_host_has_utc() -> None:
    local = HostClock(0.0, 0.02, BOOT, zone=3600)
    assert first_error([quote("[2026-11-30 10:00:00] gpu-1:7:9 [1] NCCL WARN closed")], local) is None
    assert first_error([quote("2026-11-30T10:00:00Z error")], local) is not None


def test_a_year_that_is_not_told_is_the_one_after_the_boot() -> None:
    boot = float(calendar.timegm((2026, 12, 31, 20, 0, 0)))
    moment = first_error([quote("Jan  1 01:00:00 gpu-1 app[7]: error")], HostClock(0.0, 0.0, boot, 0))
    assert moment is not None and moment.at - boot == pytest.approx(5 * 3600 + 0.5)


def test_what_is_no_error_and_what_has_no_time_says_nothing() -> None:
    lines = ("2026-11-30T09:00:00Z INFO NCCL version 2.28.9", "RuntimeError: NCCL error", "2026-13-30T09:00:00Z error")
    assert first_error([quote(line) for line in lines], CLOCK) is None
    assert first_error([quote("2026-11-30T10:00:00Z error")], None) is None
    both = first_error([quote("2026-11-30T10:00:02Z error"), quote("2026-11-30T10:00:01Z error")], CLOCK)
    assert both is not None and both.quote.text.startswith("2026-11-30T10:00:01Z")


def test_the_true_difference_lies_within_what_was_measured_however_the_way_is_split() -> None:
    for there_takes, back_takes in ((0.0, 0.04), (0.02, 0.02), (0.04, 0.0)):
        read = 1000.0 + there_takes + 7.5
        clock = measured(1000.0, read, 1000.0 + there_takes + back_takes, boot=10.0, zone=0)
        assert clock.ahead - clock.within <= 7.5 <= clock.ahead + clock.within
