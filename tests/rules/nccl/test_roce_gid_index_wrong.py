import pytest
from judging import causes, outcomes

from qops.rule import Confidence, Found, RuledOut
from qops.rules.nccl.roce_gid_index_wrong import roce_gid_index_wrong as rule

REFUSED = "n1:5:9 [0] misc/ibvwrap.cc:314 NCCL WARN Call to ibv_modify_qp failed with error {}\n"
NEWER = (
    "n1:5:9 [0] misc/ibvwrap.cc:423 NCCL WARN Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_4:1, "
    "curr state INIT, next state RTR, local GID index {}, local GID {}, remote GID {}\n"
)
TABLE = (
    "GID[  0]: fe80:0000:0000:0000:0a70:63ff:fe11:2233, RoCE v1\n"
    "GID[  1]: fe80::a70:63ff:fe11:2233, RoCE v2\n"
    "GID[  3]: ::ffff:10.30.1.5, RoCE v2\n"
)


def test_the_forced_index_is_link_local() -> None:
    files = {"job.log": REFUSED.format("Connection timed out"), "gids.txt": TABLE, "env.txt": "NCCL_IB_GID_INDEX=1\n"}
    (found,) = outcomes(rule, files) or ()
    assert isinstance(found, Found)
    assert found.confidence is Confidence.CERTAIN
    assert causes(files)[:1] == ["roce-gid-index-wrong"]


def test_nccl_prints_a_link_local_gid() -> None:
    line = NEWER.format(1, "fe80::a70:63ff:fe11:2233", "fe80::a70:63ff:fe44:5566")
    assert causes({"job.log": line})[:1] == ["roce-gid-index-wrong"]
    pair = "n1:5:9 [0] NCCL INFO NET/IB: Dev 0 Port 1 qpn 77 mtu 5 GID 1 (80FE/332211FEFF63700A)\n"
    log = {"job.log": pair + REFUSED.format("Connection timed out"), "env.txt": "NCCL_IB_GID_INDEX=1\n"}
    assert causes(log)[:1] == ["roce-gid-index-wrong"]


def test_a_forced_index_that_is_refused() -> None:
    files = {"job.log": REFUSED.format("Invalid argument"), "env.txt": "NCCL_IB_GID_INDEX=5\n"}
    assert causes(files)[:1] == ["roce-gid-index-wrong"]


def test_nccl_itself_points_at_the_index() -> None:
    hint = (
        "n1:5:9 [0] NCCL WARN HINT: In many cases this error indicates that an incorrect GID index is forced by "
        "NCCL_IB_GID_INDEX, or that a NIC's GID changed mid-run.\n"
    )
    assert causes({"job.log": hint, "env.txt": "NCCL_IB_GID_INDEX=3\n"})[:1] == ["roce-gid-index-wrong"]


def test_an_ipv4_gid_is_another_fault() -> None:
    line = NEWER.format(3, "::ffff:10.30.1.5", "::ffff:10.30.2.6")
    told = outcomes(rule, {"job.log": line, "env.txt": "NCCL_IB_GID_INDEX=3\n"}) or ()
    assert [type(o) for o in told] == [RuledOut]


def test_a_forced_index_without_a_failure_is_no_fault() -> None:
    assert causes({"gids.txt": TABLE, "env.txt": "NCCL_IB_GID_INDEX=3\n"}) == []
    assert causes({"gids.txt": TABLE}) == []


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(rule, {}) is None


def test_a_queue_pair_whose_line_says_more() -> None:
    log = (
        "n1:5:9 [0] NCCL INFO NCCL_IB_GID_INDEX set by environment to 0.\n"
        "n1:5:9 [0] NCCL INFO NET/IB: NCCL Dev 1 IbDev 1 Port 1 qpn 88 mtu 5 query_ece={supported=1, vendor_id=0x15b3, "
        "options=0x0, comp_mask=0x0} GID 0 (80FE/332211FEFF63700A) fifoRkey=0x1 fifoLkey=0x1\n"
    )
    assert causes({"job.log": log + REFUSED.format("Connection timed out")})[:1] == ["roce-gid-index-wrong"]
    assert causes({"job.log": log}) == []


def test_old_releases_name_no_peer() -> None:
    log = "n1:5:9 [0] transport/net_ib.cc:801 NCCL WARN NET/IB : Got completion with error 12, opcode 1, len 0, vendor err 129\n"
    files = {"job.log": log, "gids.txt": TABLE, "env.txt": "NCCL_IB_GID_INDEX=1\n"}
    assert causes(files)[:1] == ["roce-gid-index-wrong"]
    assert causes(files | {"env.txt": "NCCL_IB_GID_INDEX=3\n"}) == []


@pytest.mark.parametrize(
    "line",
    [
        "g2:7:9 [0] misc/ibvwrap.cc:192 NCCL WARN Call to ibv_modify_qp failed with error No data available\n",
        "g2:7:9 [0] misc/ibvwrap.cc:301 NCCL WARN Call to ibv_modify_qp failed with 61 No data available, on dev mlx5_3:1, "
        "curr state INIT, next state RTR, local GID index 5, local GID ::, remote GID ::ffff:10.20.1.8\n",
    ],
)
def test_an_entry_without_an_address(line: str) -> None:
    assert causes({"job.log": line})[:1] == ["roce-gid-index-wrong"]
    (found,) = outcomes(rule, {"job.log": line, "env.txt": "NCCL_IB_GID_INDEX=5\n"}) or ()
    assert isinstance(found, Found) and found.confidence is Confidence.CERTAIN and "GID index 5" in found.message
