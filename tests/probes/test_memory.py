import pytest
from judging import text

from qops.errors import ParseError
from qops.evidence.text import Text
from qops.probes.memory import PROBE, parse, recognise


def test_meminfo() -> None:
    found = parse([text("MemTotal:   1000 kB\nMemFree:   200 kB\nMemAvailable: 700 kB\nCached:  300 kB\n")])
    assert found is not None
    assert (found.total, found.available, found.free, found.cached) == (1024000, 716800, 204800, 307200)


@pytest.mark.parametrize(
    ("content", "total", "available"),
    [
        (
            "$ free -h\n   total used free shared buff/cache available\nMem:  125Gi 80Gi 5Gi 1Gi 40Gi 44Gi\n",
            125 << 30,
            44 << 30,
        ),
        ("   total used free shared buff/cache available\nMem:  2048 1 1 1 1 1024\n", 2 << 20, 1 << 20),
        ("free -m\n   total used free shared buff/cache available\nMem:  2048 1 1 1 1 1024\n", 2 << 30, 1 << 30),
        ("   total used free shared buffers cached\nMem:  2048 1 1 1 1 1024\n", 2 << 20, None),
    ],
)
def test_free(content: str, total: int, available: int | None) -> None:
    assert recognise(text(content))
    found = parse([text(content)])
    assert found is not None
    assert (found.total, found.available) == (total, available)


def test_an_answer_without_a_total_cannot_be_read() -> None:
    with pytest.raises(ParseError):
        parse([Text("/proc/meminfo", ("MemFree: 3 kB",), probe=PROBE.name)])


def test_gpu_memory_is_not_main_memory() -> None:
    assert not recognise(text("GPU memory: 80 GiB\nMemory: 3 MiB / 81559MiB"))
