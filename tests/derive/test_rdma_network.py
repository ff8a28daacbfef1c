import ipaddress

import pytest
from judging import text

from qops.derive import network_files, rdma_network
from qops.derive.hardware_class import HardwareClass
from qops.evidence.network import Interface, Network, NetworkConfig, RdmaPort
from qops.evidence.pcie import PcieTree
from qops.evidence.text import Quote
from qops.probes import pcie

QUOTE = Quote("rdma ports", 2, "rocep1s0f0 port=1")
CONFIG = NetworkConfig(QUOTE, default=("eno1",))


def _spark(name: str, *, up: bool = True) -> RdmaPort:
    """rocep1s0f0 or roceP2p1s0f1: the domain and the function are in the name."""
    domain, function = ("0002" if "P2" in name else "0000"), name[-1]
    interface = f"en{name[4:]}np{function}"
    return RdmaPort(name, 1, QUOTE, interface, f"{domain}:01:00.{function}", up, 200.0 if up else 40.0, ethernet=True)


SPARK = tuple(_spark(n) for n in ("roceP2p1s0f0", "rocep1s0f0", "roceP2p1s0f1", "rocep1s0f1"))


def _hca(number: int, address: str, rate: float = 400.0, *, up: bool = True, interface: str = "") -> RdmaPort:
    return RdmaPort(f"mlx5_{number}", 1, QUOTE, interface, address, up, rate, ethernet=bool(interface))


def _tree() -> PcieTree:
    """Two switches, each with a GPU and a NIC below it, and a NIC at a root port of its own."""
    bridge = "{} PCI bridge: Broadcom PEX890xx\n\tBus: primary={}, secondary={}, subordinate={}, sec-latency=0\n"
    gpu = "{} 3D controller: NVIDIA Corporation GH100 [H200 SXM 141GB] (rev a1)\n"
    nic = "{} Infiniband controller: Mellanox Technologies MT2910 Family [ConnectX-7]\n"
    listing = (
        bridge.format("0000:15:01.0", "15", "16", "1c")
        + gpu.format("0000:1b:00.0")
        + nic.format("0000:1c:00.0")
        + bridge.format("0000:37:01.0", "37", "38", "3e")
        + gpu.format("0000:3d:00.0")
        + nic.format("0000:3e:00.0")
        + bridge.format("0000:60:01.0", "60", "61", "61")
        + nic.format("0000:61:00.0")
    )
    found = pcie.parse([text(listing, "lspci")])
    assert found is not None
    return found


def test_a_sparks_linked_ports_come_by_rail() -> None:
    chosen, left = rdma_network.data_ports((*SPARK[:2], *(_spark(p.device, up=False) for p in SPARK[2:])),
                                           HardwareClass.SPARK, None, CONFIG)  # fmt: skip
    assert [p.device for p in chosen.value] == ["rocep1s0f0", "roceP2p1s0f0"]
    assert left == ("roceP2p1s0f1 is not linked", "rocep1s0f1 is not linked")
    both, _ = rdma_network.data_ports(SPARK, HardwareClass.SPARK, None, CONFIG)
    assert [p.device for p in both.value] == ["rocep1s0f0", "roceP2p1s0f0", "rocep1s0f1", "roceP2p1s0f1"]


def test_twins_are_one_port() -> None:
    assert [(a.device, b.device) for a, b in rdma_network.twins(SPARK)] == [
        ("rocep1s0f0", "roceP2p1s0f0"),
        ("rocep1s0f1", "roceP2p1s0f1"),
    ]
    assert rdma_network.twins(SPARK[:1]) == ()


def test_beside_switches_the_fastest_that_share_one_with_a_gpu() -> None:
    ports = (
        _hca(10, "0000:1c:00.0"),
        _hca(2, "0000:3e:00.0"),
        _hca(0, "0000:61:00.0"),
        _hca(3, "0000:3e:00.1", up=False),
    )
    chosen, left = rdma_network.data_ports(ports, HardwareClass.HGX, _tree(), CONFIG)
    assert [p.device for p in chosen.value] == ["mlx5_2", "mlx5_10"]
    assert left == ("mlx5_0 is left out: no GPU is near it, or it is a way out", "mlx5_3 is not linked")
    assert [rdma_network.near_gpus(p, _tree()) for p in ports] == [(0,), (1,), (), ()]


def test_without_a_common_switch_the_fastest_that_are_no_way_out() -> None:
    ports = (
        _hca(0, "0000:61:00.0", 100.0, interface="eno1"),
        _hca(1, "0000:62:00.0", 200.0, interface="ens2"),
        _hca(2, "0000:63:00.0", 25.0, interface="ens3"),
    )
    chosen, left = rdma_network.data_ports(ports, HardwareClass.RTXPRO, None, CONFIG)
    assert [p.device for p in chosen.value] == ["mlx5_1"]
    assert left == ("mlx5_0 is left out: no GPU is near it, or it is a way out", "mlx5_2 is left out: 25 Gb/s")


def test_addresses_of_hosts_fit_each_other() -> None:
    subnets = tuple(ipaddress.IPv4Network(f"10.7.{n}.0/24") for n in range(3))
    ports, _ = rdma_network.data_ports(SPARK[:2], HardwareClass.SPARK, None, CONFIG)
    assert rdma_network.plan_addresses(ports.value, subnets, 2) == {
        "enp1s0f0np0": "10.7.0.2/24",
        "enP2p1s0f0np0": "10.7.1.2/24",
    }


@pytest.mark.parametrize(
    ("interface", "address", "clash"),
    [
        ("wlP9s9", "192.168.0.14/16", True),
        ("docker0", "172.17.0.1/16", False),
        ("enp1s0f0np0", "192.168.200.1/24", False),
        ("eno1", "fe80::1/64", False),
    ],
)
def test_a_planned_network_that_another_interface_has(interface: str, address: str, *, clash: bool) -> None:
    network = Network((Interface(interface, QUOTE, addresses=(address,)),))
    found = rdma_network.conflicts({"enp1s0f0np0": "192.168.200.1/24"}, network)
    assert bool(found) is clash
    assert not clash or f"{interface} ({address})" in found[0]


def test_one_subnet_for_both() -> None:
    assert rdma_network.same_subnet(["10.0.0.1/24"], ["10.0.0.2/24"]) == "10.0.0.0/24"
    assert rdma_network.same_subnet(["10.0.0.1/24"], ["10.0.1.1/24"]) == ""
    assert rdma_network.same_subnet([], ["10.0.1.1/24"]) == ""


def test_sockets_never_go_over_a_wireless_interface_or_the_way_out() -> None:
    network = Network(tuple(Interface(p.interface, QUOTE, addresses=("10.0.0.1/24",)) for p in SPARK[:2]))
    assert rdma_network.socket_interface(SPARK[:2], {}, network, CONFIG).value == "enP2p1s0f0np0"
    radio = NetworkConfig(QUOTE, wireless=("enP2p1s0f0np0",))
    assert rdma_network.socket_interface(SPARK[:2], {}, network, radio).value == "enp1s0f0np0"
    way_out = NetworkConfig(QUOTE, default=("enP2p1s0f0np0", "enp1s0f0np0"))
    assert rdma_network.socket_interface(SPARK[:2], {}, network, way_out).value == ""
    assert rdma_network.socket_interface(SPARK[:2], {}, Network(), CONFIG).value == ""


@pytest.mark.parametrize(
    ("gid", "mapped"),
    [
        ("0000:0000:0000:0000:0000:ffff:c0a8:c801", True),
        ("::ffff:192.168.200.1", True),
        ("fe80:0000:0000:0000:4ebb:ffff:fe00:0100", False),
        ("fe80::4ebb:47ff:fe00:100", False),
        ("fd00:0000:0000:0000:0000:ffff:c0a8:c801", False),
    ],
)
def test_gids_that_are_ipv4(gid: str, *, mapped: bool) -> None:
    assert rdma_network.ipv4_gid(gid) is mapped


def test_nothing_planned_makes_no_file() -> None:
    assert network_files.files("netplan", {}, 9000, "mark") == ()
