import pytest

from qops.data import nccl as facts
from qops.derive import p2p
from qops.derive.p2p import Level, number, plan
from qops.evidence.gpu import P2pPair, P2pStatus, Pair, Path, Topology
from qops.evidence.kernel import System
from qops.evidence.nccl import NcclLog, NcclSetting
from qops.evidence.process import Environment, Variable
from qops.evidence.text import Quote

QUOTE = Quote("topo.txt", 1, "")
AMD = System(machine="x86_64", cpu_vendor="AuthenticAMD")
INTEL = System(machine="x86_64", cpu_vendor="GenuineIntel")


def env(*pairs: str) -> Environment:
    return Environment(tuple(Variable(*p.split("=", 1), owner="shell", quote=Quote("env", 1, p)) for p in pairs))


def pairs(*paths: Path) -> Topology:
    return Topology(tuple(Pair("GPU0", f"GPU{i}", path, QUOTE) for i, path in enumerate(paths, 1)))


@pytest.mark.parametrize(
    ("version", "system", "gpus", "level"),
    [
        ("2.28.9", AMD, 2, "SYS"),  # why two GPUs of an AMD machine meet the platform's faults
        ("2.28.9", AMD, 4, "PXB"),  # and four do not
        ("2.28.9", AMD, None, "PXB"),
        ("2.28.9", INTEL, 2, "PXB"),
        ("2.22.3", AMD, 8, "SYS"),
        ("2.22.3", INTEL, 2, "PXB"),
        ("2.23.4", AMD, 8, "PXB"),
        ("", AMD, 2, "SYS"),
    ],
)
def test_the_default_of_each_release(version: str, system: System, gpus: int | None, level: str) -> None:
    assert p2p.level(None, None, system, gpus, version).value == level


@pytest.mark.parametrize(
    ("set_", "level", "forced"),
    [
        (("NCCL_P2P_LEVEL=PHB",), "PHB", True),
        (("NCCL_P2P_LEVEL=4",), "SYS", True),
        (("NCCL_P2P_LEVEL=4 (SYS)",), "SYS", True),
        (("NCCL_P2P_LEVEL=phb",), "PXB", False),
        (("NCCL_P2P_DISABLE=1", "NCCL_P2P_LEVEL=SYS"), "LOC", True),
        (("NCCL_P2P_DISABLE=true", "NCCL_P2P_LEVEL=SYS"), "SYS", True),
        (("NCCL_P2P_DISABLE=0",), "PXB", False),
    ],
)
def test_settings(set_: tuple[str, ...], level: str, forced: bool) -> None:
    got = p2p.level(env(*set_), None, INTEL, 2)
    assert (got.value, got.forced) == (level, forced)


def test_what_nccl_says_is_in_force_wins_over_the_environment() -> None:
    log = NcclLog(settings=(NcclSetting("NCCL_P2P_LEVEL", "PXB", QUOTE),))
    assert p2p.level(env("NCCL_P2P_LEVEL=SYS"), log, INTEL, 2).value == "PXB"


def test_a_plan_says_why() -> None:
    far, near = plan(pairs(Path.NODE, Path.PIX), None, Level("PXB", "the default"))
    assert (far.transport, near.transport) == ("SHM", "P2P")
    assert far.because == "NODE is further than PXB (the default)"
    (network, _) = plan(pairs(Path.NODE, Path.PIX), None, Level("PXB", "the default"), shm_off=True)
    assert network.transport == "NET"


def test_the_drivers_refusal_counts_for_reading_and_writing_only() -> None:
    topology = pairs(Path.PHB)
    refused = P2pStatus((P2pPair("GPU0", "GPU1", "w", "CNS", QUOTE),))
    assert plan(topology, refused, Level("SYS", "set"))[0].transport == "SHM"
    atomics = P2pStatus((P2pPair("GPU0", "GPU1", "a", "NS", QUOTE),))
    assert plan(topology, atomics, Level("SYS", "set"))[0].transport == "P2P"


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1), ("0x1", 1), (" 1 ", 1), ("true", 0), ("", 0), ("-1", -1), ("1abc", 1), ("9" * 40, 10**20 - 1), ("١", 0)],
)
def test_numbers_are_read_as_c_reads_them(text: str, value: int) -> None:
    assert number(text) == value


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("0", "LOC"),
        ("1", "PIX"),
        ("2", "PXB"),
        ("3", "PHB"),
        ("4", "SYS"),
        ("99", "SYS"),
        ("NVL", "NVL"),
        ("NODE", None),
    ],
)
def test_levels(text: str, level: str | None) -> None:
    assert facts.level_of(text) == level


def test_versions_and_variables() -> None:
    assert facts.version_of("NCCL version 2.28.9+cuda13.0") == (2, 28, 9)
    assert facts.version_of("no number") == ()
    assert facts.read_from("NCCL_CUMEM_HOST_ENABLE") == (2, 23)
    assert facts.read_until("NCCL_MNNVL") == (2, 21)
    assert facts.read_from("NCCL_NO_SUCH_THING") is None
    assert facts.strings() <= set(facts.known()) | {"NCCL_SOCKET_MAGIC", "NCCL_PROXY_DUMP_SIGNAL"}
