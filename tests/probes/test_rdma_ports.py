import os
import subprocess
from pathlib import Path

from judging import text

from qops.probes import network_config, rdma_ports

SPARK = """\
== rdma ports
roceP2p1s0f0 port=1 net=enP2p1s0f0np0 pci=0002:01:00.0 numa=0 speed=200000 layer=Ethernet rate=200 Gb/sec (4X HDR) state=4: ACTIVE
rocep1s0f1 port=1 net=enp1s0f1np1 pci=0000:01:00.1 numa=-1 speed=-1 layer=Ethernet rate=40 Gb/sec (4X QDR) state=1: DOWN
mlx5_3 port=1 net= pci=0000:c1:00.0 numa=1 speed=4294967295 layer=InfiniBand rate=2.5 Gb/sec (1X SDR) state=2: INIT
"""


def test_ports() -> None:
    found = rdma_ports.parse([text(SPARK)])
    assert found is not None
    up, down, ib = found.ports
    assert (up.device, up.interface, up.address, up.active) == ("roceP2p1s0f0", "enP2p1s0f0np0", "0002:01:00.0", True)
    assert (up.rate, up.speed, up.ethernet, up.numa) == (200.0, 200.0, True, 0)
    assert (down.active, down.speed, down.numa) == (False, None, None)
    assert (ib.interface, ib.ethernet, ib.active, ib.rate, ib.speed) == ("", False, False, 2.5, None)


def test_a_host_without_rdma_says_so() -> None:
    found = rdma_ports.parse([text("== rdma ports\n")])
    assert found is not None and found.ports == ()
    assert rdma_ports.parse([text("mlx5_0 port 1 ==> eth0 (Up)\n")]) is None


NETPLAN = """\
== network config
manager netplan
manager NetworkManager
running NetworkManager
wireless wlP9s9
default wlP9s9
file /etc/netplan/40-cx7.yaml
| network:
|   version: 2
|   ethernets:
|     enp1s0f0np0:
|       link-local: [ ipv4 ]
|     enP2p1s0f0np0:
|       addresses:
|         - 192.168.177.11/24
"""
OURS = """\
== network config
manager systemd-networkd
running systemd-networkd
default eth0
file /etc/systemd/network/40-qops-enp1s0f0np0.network
| # Written by Ansible: qops, role rdma_network.
| [Match]
| Name=enp1s0f0np0
| [Network]
| Address=192.168.200.1/24
file /etc/NetworkManager/system-connections/qops-enp1s0f1np1.nmconnection
| # Written by Ansible: qops, role rdma_network.
| interface-name=enp1s0f1np1
| address1=192.168.202.1/24
conf hcas=rocep1s0f0,roceP2p1s0f0
conf gid=resolve
environment
env NCCL_IB_HCA==rocep1s0f0,roceP2p1s0f0
env NCCL_IB_GID_INDEX=3
"""


def test_a_file_of_somebody_else() -> None:
    found = network_config.parse([text(NETPLAN)])
    assert found is not None
    assert (found.managers, found.running) == (("netplan", "NetworkManager"), ("NetworkManager",))
    assert (found.default, found.wireless, found.environment) == (("wlP9s9",), ("wlP9s9",), None)
    (file,) = found.files
    assert (file.ours, file.addresses) == (False, {"enP2p1s0f0np0": "192.168.177.11/24"})


def test_what_the_role_left() -> None:
    found = network_config.parse([text(OURS)])
    assert found is not None
    assert all(f.ours for f in found.files)
    assert [f.addresses for f in found.files] == [
        {"enp1s0f0np0": "192.168.200.1/24"},
        {"enp1s0f1np1": "192.168.202.1/24"},
    ]
    assert found.conf == {"hcas": "rocep1s0f0,roceP2p1s0f0", "gid": "resolve"}
    assert found.environment == {"NCCL_IB_HCA": "=rocep1s0f0,roceP2p1s0f0", "NCCL_IB_GID_INDEX": "3"}
    assert network_config.parse([text("manager netplan\n")]) is None


def test_the_scripts_run_here_and_answer_what_the_parsers_read(tmp_path: Path) -> None:
    at = tmp_path / "sys/bus/pci/devices/0000:c1:00.0"
    (at / "net/ibs1").mkdir(parents=True)
    (at / "numa_node").write_text("1\n")
    (at / "net/ibs1/speed").write_text("400000\n")
    port = tmp_path / "sys/class/infiniband/mlx5_0/ports/1"
    port.mkdir(parents=True)
    (tmp_path / "sys/class/infiniband/mlx5_0/device").symlink_to(at)
    (tmp_path / "sys/class/net").mkdir()
    for name, value in (("state", "4: ACTIVE"), ("link_layer", "InfiniBand"), ("rate", "400 Gb/sec (4X NDR)")):
        (port / name).write_text(value + "\n")
    answers = [
        subprocess.run(
            ["sh", "-c", script],
            env={**os.environ, "QOPS_ROOT": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for script in (rdma_ports.SCRIPT, network_config.SCRIPT)
    ]
    found = rdma_ports.parse([text(answers[0])])
    assert found is not None
    (only,) = found.ports
    assert (only.device, only.interface, only.address, only.numa) == ("mlx5_0", "ibs1", "0000:c1:00.0", 1)
    assert (only.active, only.rate, only.speed, only.ethernet) == (True, 400.0, 400.0, False)
    assert network_config.parse([text(answers[1])]) is not None
