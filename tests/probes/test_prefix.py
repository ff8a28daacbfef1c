import pytest

from qops.probes.prefix import LONGEST, strip


@pytest.mark.parametrize(
    ("line", "rest"),
    [
        ("    Total : 1 MiB", "    Total : 1 MiB"),
        ("> GPU0  X", "GPU0  X"),
        ("[   12.345678] NVRM: hello", "NVRM: hello"),
        ("Mar  3 08:01:02 node7 kernel: NVRM: hello", "NVRM: hello"),
        ("web-1  |   indented", "  indented"),
        ("(EngineCore_DP0 pid=77) text", "text"),
        ("2026-03-03T08:01:02.123456789Z web-1  | [ 1.5] text", "text"),
        ("| 0  NVIDIA | row |", "| 0  NVIDIA | row |"),
        ("x" * (LONGEST + 5), "x" * LONGEST),
    ],
)
def test_strip(line: str, rest: str) -> None:
    assert strip(line) == rest
