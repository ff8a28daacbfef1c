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
