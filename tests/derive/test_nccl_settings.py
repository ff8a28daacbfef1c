import pytest

from qops.derive.nccl_settings import Remark, differences, lint
from qops.evidence.network import Gid, Interface, Network
from qops.evidence.process import Variable
from qops.evidence.text import Quote


def variables(*pairs: str, owner: str = "shell") -> tuple[Variable, ...]:
    return tuple(
        Variable(*pair.split("=", 1), owner=owner, quote=Quote("env.txt", i, pair)) for i, pair in enumerate(pairs, 1)
    )


def only(pair: str, version: str = "") -> Remark | None:
    remarks = lint(variables(pair), version)
    assert len(remarks) <= 1, remarks
    return remarks[0] if remarks else None


@pytest.mark.parametrize(
    ("pair", "kind", "instead"),
    [
        ("NCCL_P2P_LEVEL=phb", "typo", "NCCL_P2P_LEVEL=PHB"),
        ("NCCL_P2P_LEVEL=NODE", "typo", "NCCL_P2P_LEVEL=PHB"),
        ("NCCL_P2P_LEVEL=NVLINK", "typo", "one of LOC, NVL, PIX, PXB, PHB or SYS"),
        ("NCCL_NET_GDR_LEVEL=sys", "typo", "NCCL_NET_GDR_LEVEL=SYS"),
        ("NCCL_P2P_LEVEL=2", "legacy", "NCCL_P2P_LEVEL=PXB"),
        ("NCCL_P2P_LEVEL=0", "legacy", "NCCL_P2P_LEVEL=LOC"),
        ("NCCL_P2P_LEVEL=7", "legacy", "NCCL_P2P_LEVEL=SYS"),
        ("NCCL_P2P_DISABLE=0", "no effect", "leave NCCL_P2P_DISABLE out"),
        ("NCCL_P2P_DISABLE=true", "no effect", "NCCL_P2P_DISABLE=1, or leave it out"),
        ("NCCL_IB_DISABLE=yes", "no effect", "NCCL_IB_DISABLE=1, or leave it out"),
        ("NCCL_NVLS_ENABLE=off", "typo", "NCCL_NVLS_ENABLE=1 or NCCL_NVLS_ENABLE=0"),
        ("NCCL_DEBUG=verbose", "typo", "NCCL_DEBUG=INFO or WARN"),
        ("NCCL_P2P_DISABLED=1", "unknown", "NCCL_P2P_DISABLE=1"),
        ("NCCL_FROBNICATE=1", "unknown", "remove it"),
    ],
)
def test_what_is_wrong_and_what_to_write(pair: str, kind: str, instead: str) -> None:
    remark = only(pair)
    assert remark is not None
    assert (remark.kind, remark.instead) == (kind, instead)


@pytest.mark.parametrize(
    "pair",
    [
        "NCCL_P2P_LEVEL=SYS",
        "NCCL_P2P_DISABLE=1",
        "NCCL_P2P_DISABLE=0x1",
        "NCCL_DEBUG=info",
        "NCCL_DEBUG_SUBSYS=INIT,NET",
        "NCCL_ALGO=Ring",
        "NCCL_SOCKET_IFNAME=^lo,docker",
        "NCCL_CUMEM_ENABLE=0",
        "NCCL_IB_TIMEOUT=22",
        "NCCL_VERSION=2.28.9-1",
        "NCCL_ASYNC_ERROR_HANDLING=1",
    ],
)
def test_what_is_right_gets_no_remark(pair: str) -> None:
    assert only(pair) is None


def test_legacy_numbers_say_what_they_mean() -> None:
    remark = only("NCCL_P2P_LEVEL=4")
    assert remark is not None and "means SYS" in remark.what and remark.severity == "info"


def test_versions() -> None:
    early = only("NCCL_RAS_ENABLE=0", "2.21.5")
    assert early is not None and "does not read NCCL_RAS_ENABLE yet" in early.what
    assert only("NCCL_RAS_ENABLE=0", "2.28.9") is None
    late = only("NCCL_WORK_FIFO_DEPTH=65536", "2.28.9+cuda13.0")
    assert late is not None and "no longer reads" in late.what
    gid = only("NCCL_IB_GID_INDEX=3", "2.27.7")
    assert gid is not None and "leave NCCL_IB_GID_INDEX out" in gid.instead
    assert only("NCCL_IB_GID_INDEX=3", "2.18.3") is None


def test_conflicts_are_of_one_owner() -> None:
    pair = ("NCCL_P2P_DISABLE=1", "NCCL_P2P_LEVEL=PHB")
    assert [r.kind for r in lint(variables(*pair))] == ["conflict"]
    apart = (*variables(pair[0], owner="container a"), *variables(pair[1], owner="container b"))
    assert lint(apart) == ()
    off = lint(variables("NCCL_P2P_DISABLE=1", "NCCL_SHM_DISABLE=1", "NCCL_IB_DISABLE=1"))
    assert [r.kind for r in off] == ["conflict"] and "TCP sockets" in off[0].what


def test_the_file_of_all_users_is_read_too() -> None:
    (remark,) = lint(variables("NCCL_P2P_LEVEL=phb", owner="/etc/nccl.conf"))
    assert remark.owner == "/etc/nccl.conf"


def test_prefixes_that_take_more_than_their_author_meant() -> None:
    quote = Quote("ip.txt", 1, "")
    network = Network(
        tuple(Interface(n, quote) for n in ("lo", "eth1", "eth10")),
        tuple(Gid(d, 1, 0, "::", "", quote) for d in ("mlx5_1", "mlx5_10", "mlx5_2")),
    )
    first, second = lint(variables("NCCL_SOCKET_IFNAME=eth1", "NCCL_IB_HCA=mlx5_1,mlx5_2"), "", network)
    assert "eth10" in first.what and first.instead == "NCCL_SOCKET_IFNAME==eth1"
    assert "mlx5_10" in second.what
    assert lint(variables("NCCL_SOCKET_IFNAME=eth", "NCCL_IB_HCA==mlx5_1"), "", network) == ()


def test_ranks_that_differ() -> None:
    one = variables("NCCL_PROTO=LL", "NCCL_DEBUG=INFO", owner="pid 10")
    two = variables("NCCL_PROTO=Simple", "NCCL_DEBUG=INFO", owner="pid 11")
    (remark,) = differences((*one, *two))
    assert remark.name == "NCCL_PROTO" and "pid 10: LL, pid 11: Simple" in remark.what
    (absent,) = differences((*one, *two[1:]))
    assert "pid 11: not set" in absent.what
    own = (*variables("NCCL_SOCKET_IFNAME=a", owner="pid 1"), *variables("NCCL_SOCKET_IFNAME=b", owner="pid 2"))
    assert differences(own) == ()
    assert differences(one) == ()


def test_a_value_of_a_megabyte_is_no_trouble() -> None:
    assert len(lint(variables("NCCL_P2P_LEVEL=" + "9" * 1_000_000))) == 1
    assert len(lint(variables("NCCL_" + "X" * 100_000 + "=1"))) == 1
