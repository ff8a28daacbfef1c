import pytest
from judging import text
from mangling import parses_anything

from qops.evidence.gpu import Path, Topology
from qops.probes import topology

TABS = (
    "\t\x1b[4mGPU0\tGPU1\tGPU2\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
    "GPU0\t X \tNV18\tSYS\tPIX\t0-31\t0\t\tN/A\n"
    "GPU1\tNV18\t X \tNODE\tPXB\t0-31\t0\t\tN/A\n"
    "GPU2\tSYS\tNODE\t X \tSYS\t32-63\t1\t\tN/A\n"
    "NIC0\tPIX\tPXB\tSYS\t X \n"
    "\nLegend:\n\n"
    "  X    = Self\n"
    "  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges within a NUMA node\n"
    "  NV#  = Connection traversing a bonded set of # NVLinks\n"
    "\nNIC Legend:\n\n  NIC0: mlx5_4\n"
)

BLANKS = """\
        GPU0    GPU1    mlx5_0  CPU Affinity    NUMA Affinity
GPU0     X      PHB     NODE    0-13,28-41      0-1
GPU1    PHB      X      PHB     0-13,28-41      N/A
mlx5_0  NODE    PHB      X
"""

PARTLY = """\
        GPU0    GPU1    GPU2    GPU3
GPU0     X      PIX     NODE    NO
GPU1    PIX      X
"""

HEADLESS = "GPU1    NV4      X      NV4     SYS     PIX     0-63    0       N/A\n"

SAMPLES = (TABS, BLANKS, PARTLY, HEADLESS, "GPU0..GPU3: NODE for every pair\n", "GPU0-GPU1 PIX, GPU0-GPU2 NODE\n")


def parse(*contents: str) -> Topology:
    texts = [text(content) for content in contents]
    assert all(topology.recognise(t) for t in texts)
    found = topology.parse(texts)
    assert found is not None
    return found


def named(found: Topology) -> dict[str, str]:
    return {f"{p.a}-{p.b}": f"{p.path}{p.links or ''}" for p in found.pairs}


def test_matrix_with_tabs_colours_and_nics() -> None:
    found = parse(TABS)
    assert named(found) == {"GPU0-GPU1": "NV18", "GPU0-GPU2": "SYS", "GPU1-GPU2": "NODE"}
    assert [(p.a, p.b, p.path) for p in found.nic_pairs] == [
        ("GPU0", "NIC0", Path.PIX),
        ("GPU1", "NIC0", Path.PXB),
        ("GPU2", "NIC0", Path.SYS),
    ]
    assert found.numa == (("GPU0", "0"), ("GPU1", "0"), ("GPU2", "1"))
    assert found.nics == (("NIC0", "mlx5_4"),)
    assert found.pairs[0].quote.line == 2


def test_matrix_with_blanks_and_device_names() -> None:
    found = parse(BLANKS)
    assert named(found) == {"GPU0-GPU1": "PHB"}
    assert [(p.b, p.path) for p in found.nic_pairs] == [("mlx5_0", Path.NODE), ("mlx5_0", Path.PHB)]
    assert found.numa == (("GPU0", "0-1"),)


def test_truncated_rows() -> None:
    assert named(parse(PARTLY)) == {"GPU0-GPU1": "PIX", "GPU0-GPU2": "NODE"}


def test_row_without_header() -> None:
    found = parse(HEADLESS)
    assert named(found) == {"GPU0-GPU1": "NV4", "GPU1-GPU2": "NV4"}
    assert found.numa == (("GPU1", "0"),)


def test_matrix_behind_a_prefix() -> None:
    assert named(parse("".join(f"> {line}\n" for line in BLANKS.splitlines()))) == {"GPU0-GPU1": "PHB"}


@pytest.mark.parametrize(
    ("content", "pairs"),
    [
        ("GPU0..GPU2: NODE for every pair", {"GPU0-GPU1": "NODE", "GPU0-GPU2": "NODE", "GPU1-GPU2": "NODE"}),
        ("GPU0-GPU1 PIX, GPU0-GPU2 NODE, GPU4-GPU0 SYS", {"GPU0-GPU1": "PIX", "GPU0-GPU2": "NODE", "GPU0-GPU4": "SYS"}),
        ("GPU0 <-> GPU1 : NV4", {"GPU0-GPU1": "NV4"}),
        ("GPU0 to GPU1 is PHB", {"GPU0-GPU1": "PHB"}),
    ],
)
def test_pairs_as_people_write_them(content: str, pairs: dict[str, str]) -> None:
    assert named(parse(content)) == pairs


def test_first_text_that_names_a_pair_counts() -> None:
    assert named(parse("GPU0 <-> GPU1 : NV4", "GPU1 <-> GPU0 : SYS")) == {"GPU0-GPU1": "NV4"}


@pytest.mark.parametrize(
    "content",
    [
        "GPU0 <-> GPU1 : OK",
        "        GPU0    GPU1\n GPU0   X       GNS\n GPU1   GNS     X\n",
        "GPU0..GPU99999: NODE for every pair",
    ],
)
def test_other_text_is_nothing(content: str) -> None:
    assert topology.parse([text(content)]) is None


def test_any_text() -> None:
    parses_anything(topology.PROBE, SAMPLES)
