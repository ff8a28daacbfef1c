import pytest
from judging import text
from mangling import parses_anything
from msgspec.structs import replace

from qops.evidence.gpu import GpuSamples
from qops.evidence.text import Text
from qops.probes import gpu_samples

MIB = 1024 * 1024

SERIES = """\
2026/03/02 23:59:59.500, 0, 100 %, 0 %, 121.50 W, 2685 MiB, 1980 MHz, P0
2026/03/02 23:59:59.504, 1, 0 %, 0 %, 80.10 W, 500 MiB, 345 MHz, P0
2026/03/03 00:00:00.500, 0, 100 %, 0 %, 121.49 W, 2685 MiB, 1980 MHz, P0
2026/03/03 00:00:00.504, 1, [N/A], [N/A], [N/A], [N/A], 345 MHz, P0
"""

HEADED = """\
timestamp, utilization.gpu [%], index, clocks.current.sm [MHz]
2026/03/03 08:00:01.000, 97, 0, 1980
2026/03/03 08:00:01.001, 3, 1, 345
2026/03/03 08:00:02.000, 98, 0, 1975
2026/03/03 08:00:02.001, 4, 1, 345
"""

DMON = """\
# gpu    pwr  gtemp  mtemp     sm    mem    enc    dec   mclk   pclk     fb   bar1  rxpci  txpci
# Idx      W      C      C      %      %      %      %    MHz    MHz     MB     MB   MB/s   MB/s
    0    121     37     38    100      0      0      0   3201   1980   2685      2      7      9
    1      -      -      -      -      -      -      -      -      -      -      -      -      -
    0    122     37     38    100      0      0      0   3201   1980   2685      2      0      1
    1     80     36     38      0      0      0      0   3201    345      0      2      0      0
# gpu    pwr  gtemp  mtemp     sm    mem    enc    dec   mclk   pclk     fb   bar1  rxpci  txpci
# Idx      W      C      C      %      %      %      %    MHz    MHz     MB     MB   MB/s   MB/s
    0    121     37     38     99      0      0      0   3201   1980   2685      2      0      1
    1     80     36     38      0      0      0      0   3201    345      0      2      0      0
"""

DATED = """\
#Date        Time         gpu    pwr     sm    mem   mclk   pclk     fb  rxpci  txpci
#YYYYMMDD    HH:MM:SS     Idx      W      %      %    MHz    MHz     MB   MB/s   MB/s
 20260303    08:00:00       0    116     50      0   3201   1980      0      0      0

 20260303    08:00:03       0     81     60      0   3201    345      0      0      0
"""

PMON = """\
# gpu         pid   type     sm    mem    enc    dec    jpg    ofa    command
# Idx           #    C/G      %      %      %      %      %      %    name
    0        7001     C      99      0      -      -      -      -    python3
"""

TABLE = """\
|   0  NVIDIA H100 80GB HBM3          On  |   00000000:1B:00.0 Off |                    0 |
| N/A   51C    P0            120W /  700W |     624MiB /  81559MiB |    {use}%      Default |
"""

PROSE = "GPU utilization: 100%\nPower: approximately 120 W per GPU\nMemory: approximately 624 MiB per GPU\n"

SAMPLES = (SERIES, HEADED, DMON, DATED, PMON, TABLE.format(use=99), PROSE)


def parse(*contents: str) -> GpuSamples:
    texts = [text(content, f"{n}.txt") for n, content in enumerate(contents)]
    assert all(gpu_samples.recognise(t) for t in texts)
    found = gpu_samples.parse(texts)
    assert found is not None
    return found


def test_series_without_header_over_midnight() -> None:
    found = parse(SERIES)
    assert found.indexes == (0, 1)
    first, second = found.of(0)
    assert (first.at, second.at) == (0.0, 1.0)
    assert (first.utilization, first.memory_utilization, first.power) == (100, 0, 121.5)
    assert (first.memory_used, first.sm_clock, first.pstate) == (2685 * MIB, 1980, "P0")
    missing = found.of(1)[1]
    assert (missing.utilization, missing.power, missing.memory_used, missing.sm_clock) == (None, None, None, 345)
    assert first.quote.line == 1


def test_series_with_header_in_any_order() -> None:
    found = parse(HEADED)
    assert [(s.at, s.utilization, s.sm_clock) for s in found.of(0)] == [(0.0, 97, 1980), (1.0, 98, 1975)]


def test_series_of_one_clock_are_put_in_order() -> None:
    later = SERIES.replace("2026/03/03 00:00:00", "2026/03/03 00:00:09").replace(
        "2026/03/02 23:59:59", "2026/03/03 00:00:08"
    )
    found = parse(later, SERIES)
    assert [s.at for s in found.of(0)] == [0.0, 1.0, 8.5 + 0.5, 10.0]
    assert [s.quote.source for s in found.of(0)] == ["1.txt", "1.txt", "0.txt", "0.txt"]


def test_dmon() -> None:
    found = parse(DMON)
    assert [s.at for s in found.of(0)] == [0.0, 1.0, 2.0]
    first = found.of(0)[0]
    assert (first.utilization, first.memory_utilization, first.power) == (100, 0, 121.0)
    assert (first.memory_used, first.sm_clock, first.pcie_rx, first.pcie_tx) == (2685 * MIB, 1980, 7, 9)
    nothing = found.of(1)[0]
    assert (nothing.utilization, nothing.power, nothing.memory_used, nothing.pcie_rx) == (None, None, None, None)


def test_dmon_with_dates() -> None:
    assert [(s.at, s.utilization, s.pcie_rx) for s in parse(DATED).of(0)] == [(0.0, 50, 0), (3.0, 60, 0)]


def test_excerpt_of_dmon() -> None:
    found = parse(
        "# gpu     sm    mem    enc    dec\n    0     99      1      0      0\n    1     98      0      0      0\n"
    )
    assert [(s.index, s.utilization, s.memory_utilization, s.power) for s in found.samples] == [
        (0, 99, 1, None),
        (1, 98, 0, None),
    ]


def test_series_without_a_clock_follows_the_others() -> None:
    found = parse(DMON, SERIES)
    assert [s.at for s in found.of(0)] == [0.0, 1.0, 2.004, 3.004, 4.004]
    assert [s.quote.source for s in found.of(0)] == ["1.txt"] * 2 + ["0.txt"] * 3


def test_processes_of_pmon_are_no_samples() -> None:
    assert gpu_samples.parse([text(PMON)]) is None


def test_answers_sampled_by_the_collection() -> None:
    texts = [replace(text(TABLE.format(use=use), "nvidia-smi"), at=at) for use, at in ((97, 0.2), (0, 5.2), (99, 10.2))]
    found = gpu_samples.parse(texts)
    assert found is not None
    assert [(s.at, s.utilization) for s in found.samples] == [(0.0, 97), (5.0, 0), (10.0, 99)]


def test_single_table_is_one_moment() -> None:
    found = parse(TABLE.format(use=97), TABLE.format(use=97))
    assert [(s.at, s.index, s.utilization, s.power) for s in found.samples] == [(0.0, 0, 97, 120.0)]


def test_single_table_adds_nothing_to_a_series() -> None:
    assert len(parse(SERIES, TABLE.format(use=97)).samples) == 4


@pytest.mark.parametrize(
    ("content", "utilization", "power", "memory", "rx"),
    [
        (PROSE, 100, 120.0, 624 * MIB, None),
        ("GPU-Util ~99 %, PCIe RX 0 TX 0", 99, None, None, 0),
        ("gpu util = 98%, power draw: 131.5W", 98, 131.5, None, None),
    ],
)
def test_prose(content: str, utilization: int, power: float | None, memory: int | None, rx: int | None) -> None:
    (sample,) = parse(content).samples
    assert (sample.index, sample.at) == (-1, 0.0)
    assert (sample.utilization, sample.power, sample.memory_used, sample.pcie_rx) == (utilization, power, memory, rx)


@pytest.mark.parametrize(
    "content",
    ["gpu_memory_utilization=0.9", "GPU KV cache usage: 3.1%", "Memory: 62 GiB", "2026/03/03 08:00:01.000, hello"],
)
def test_other_text_is_nothing(content: str) -> None:
    assert gpu_samples.parse([text(content)]) is None


def test_command_asks_for_eleven_samples_in_ten_seconds() -> None:
    (ask,) = gpu_samples.PROBE.asks
    assert getattr(ask, "argv", ())[-2:] == ("-c", "11")
    assert gpu_samples.parse([Text("nvidia-smi dmon", ())]) is None


def test_any_text() -> None:
    parses_anything(gpu_samples.PROBE, SAMPLES)
