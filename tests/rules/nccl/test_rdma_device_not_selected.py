from judging import causes, outcomes
from nccl_pictures import start

from qops.rules.nccl.rdma_device_not_selected import rdma_device_not_selected as rule
from qops.rules.nccl.rdma_device_not_selected import routable, twin

GIDS = """DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4\t\tVER\tDEV
---\t----\t-----\t---\t\t\t\t\t------------\t---\t---
rocep1s0f1\t1\t3\t0000:0000:0000:0000:0000:ffff:c0a8:6401\t192.168.100.1\tv2\tenp1s0f1np1
roceP2p1s0f1\t1\t3\t0000:0000:0000:0000:0000:ffff:c0a8:6501\t192.168.101.1\tv2\tenP2p1s0f1np1
n_gids_found=2
"""
ONE = "sp1:9:9 [0] NCCL INFO NET/IB : Using [0]rocep1s0f1:1/RoCE [RO]; OOB enp1s0f1np1:192.168.100.1<0>\n"
BOTH = ONE.replace(" [RO]", " [1]roceP2p1s0f1:1/RoCE [RO]")


def test_half_of_a_port_is_left() -> None:
    assert causes({"gids.txt": GIDS, "job.log": ONE, "env.txt": "NCCL_IB_HCA=rocep1s0f1\n"}) == [
        "rdma-device-not-selected"
    ]


def test_both_halves_are_no_fault() -> None:
    assert causes({"gids.txt": GIDS, "job.log": BOTH}) == []


def test_a_setting_that_names_one_half() -> None:
    netdev = "rocep1s0f1 port 1 ==> enp1s0f1np1 (Up)\nroceP2p1s0f1 port 1 ==> enP2p1s0f1np1 ({})\n"  # ibdev2netdev
    hca = {"env.txt": "NCCL_IB_HCA=rocep1s0f1\n"}
    assert causes({"net.txt": netdev.format("Up")} | hca) == ["rdma-device-not-selected"]
    assert causes({"net.txt": netdev.format("Down")} | hca) == []


def test_sockets_between_hosts_that_have_rdma() -> None:
    log = start("NET/Socket/0", hosts=("sp1", "sp2"))
    files = {"gids.txt": GIDS, "job.log": log, "env.txt": "NCCL_IB_DISABLE=1\n"}
    assert causes(files) == ["rdma-device-not-selected"]


def test_sockets_without_rdma_devices_are_no_fault() -> None:
    log = "sp1:9:9 [0] NCCL INFO NET/IB : No device found.\n" + start("NET/Socket/0", hosts=("sp1", "sp2"))
    assert causes({"job.log": log}) == []


def test_which_names_belong_together() -> None:
    assert twin("rocep1s0f0", "roceP2p1s0f0")
    assert not twin("rocep1s0f0", "rocep1s0f1")
    assert not twin("mlx5_0", "mlx5_1")
    assert routable("0000:0000:0000:0000:0000:ffff:c0a8:6401") and not routable("fe80::1") and not routable("::")


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(rule, {}) is None


UNOPENED = (
    "n1:5:9 [0] NCCL INFO NET/IB : Unable to open device mlx5_2\n"
    "n1:5:9 [0] NCCL INFO NET/IB : No device found.\nn1:5:9 [0] NCCL INFO Using network Socket\n"
)
WORKS = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 9.2\n"


def test_a_device_that_cannot_be_opened() -> None:
    assert causes({"job.log": UNOPENED}) == ["rdma-device-not-selected"]
    assert causes({"job.log": UNOPENED + WORKS}) == []


def test_infiniband_without_verbs_in_a_job_of_several_hosts() -> None:
    log = (
        "n1:5:9 [0] NCCL INFO Failed to open libibverbs.so[.1]\n"
        "n1:5:9 [0] NCCL INFO NET/Socket : Using [0]{0}:10.9.0.1<0>\nn1:5:9 [0] NCCL INFO Using network Socket\n"
        "n1:5:9 [0] NCCL INFO comm 0x4 rank 0 nRanks 16 nNodes {1} localRanks 8 localRank 0 MNNVL 0\n"
    )
    assert causes({"job.log": log.format("ib2", 2)}) == ["rdma-device-not-selected"]
    assert causes({"job.log": log.format("eth0", 2)}) == []
    assert causes({"job.log": log.format("ib2", 1)}) == []


def test_within_one_host_an_unopened_device_is_no_fault() -> None:
    assert causes({"job.log": UNOPENED + start("SHM/direct/direct")}) == []
    nodes = "n1:5:9 [0] NCCL INFO comm 0x4 rank 0 nRanks 8 nNodes 1 localRanks 8 localRank 0 MNNVL 0\n"
    assert causes({"job.log": UNOPENED + nodes}) == []
