import pytest
from judging import text
from mangling import parses_anything

from qops.evidence.network import Interface, Network
from qops.probes import network

ADDRESS = """\
1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN group default qlen 1000
    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00
    inet 127.0.0.1/8 scope host lo
       valid_lft forever preferred_lft forever
    inet6 ::1/128 scope host noprefixroute
2: ens9np0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP group default qlen 1000
    link/ether 02:00:00:00:00:01 brd ff:ff:ff:ff:ff:ff
    inet 198.51.100.7/24 brd 198.51.100.255 scope global ens9np0
3: ens10np1: <NO-CARRIER,BROADCAST,MULTICAST,UP> mtu 1500 qdisc mq state DOWN group default qlen 1000
4: eth0@if17: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1450 qdisc noqueue state UP group default
"""

ONE_LINE = """\
2: ens9np0    inet 198.51.100.7/24 brd 198.51.100.255 scope global ens9np0\\       valid_lft forever
2: ens9np0    inet6 fe80::1/64 scope link \\       valid_lft forever preferred_lft forever
"""

IFCONFIG = """\
enp3s0: flags=4163<UP,BROADCAST,RUNNING,MULTICAST>  mtu 1500
        inet 192.0.2.15  netmask 255.255.255.0  broadcast 192.0.2.255
"""

BRIEF = "lo               UNKNOWN        127.0.0.1/8 ::1/128\nens9np0          UP             198.51.100.7/24\n"

SHOWN = """\
DEV     PORT    INDEX   GID                                     IPv4            VER     DEV
---     ----    -----   ---                                     ------------    ---     ---
mlx5_2  1       0       fe80:0000:0000:0000:0000:00ff:fe00:0001                 v1      ens9np0
mlx5_2  1       3       0000:0000:0000:0000:0000:ffff:c633:6407 198.51.100.7    v2      ens9np0
mlx5_3  1       0       fe80:0000:0000:0000:0000:0003:0000:0002
n_gids_found=3
"""

VERBS = """\
hca_id:\tmlx5_2
\ttransport:\t\t\tInfiniBand (0)
\t\tport:\t2
\t\t\tGID[  0]:\t\tfe80:0000:0000:0000:0000:00ff:fe00:0001, RoCE v1
\t\t\tGID[  1]:\t\tfe80::ff:fe00:1, RoCE v2
"""

SYSFS = """\
/sys/class/infiniband/mlx5_2/ports/1/gids/0:fe80:0000:0000:0000:0000:00ff:fe00:0001
/sys/class/infiniband/mlx5_2/ports/1/gids/1:0000:0000:0000:0000:0000:0000:0000:0000
/sys/class/infiniband/mlx5_2/ports/1/gids/3:0000:0000:0000:0000:0000:ffff:c633:6407
/sys/class/infiniband/mlx5_2/ports/1/gid_attrs/types/0:IB/RoCE v1
/sys/class/infiniband/mlx5_2/ports/1/gid_attrs/types/3:RoCE v2
/sys/class/infiniband/mlx5_2/ports/1/gid_attrs/ndevs/3:ens9np0
"""

PAIRED = "mlx5_2 port 1 ==> ens9np0 (Up)\nroceP2p1s0f1 port 1 ==> enP2p1s0f1np1 (Down)\n"

SAMPLES = (ADDRESS, ONE_LINE, IFCONFIG, BRIEF, SHOWN, VERBS, SYSFS, PAIRED)


def parse(*contents: str) -> Network:
    texts = [text(content) for content in contents]
    assert all(network.recognise(t) for t in texts)
    found = network.parse(texts)
    assert found is not None
    return found


def interfaces(*contents: str) -> dict[str, Interface]:
    return {i.name: i for i in parse(*contents).interfaces}


def test_addresses() -> None:
    found = interfaces(ADDRESS)
    assert [(i.name, i.up, i.mtu) for i in found.values()] == [
        ("lo", True, 65536),
        ("ens9np0", True, 9000),
        ("ens10np1", False, 1500),
        ("eth0", True, 1450),
    ]
    assert found["lo"].addresses == ("127.0.0.1/8", "::1/128")
    assert found["ens9np0"].addresses == ("198.51.100.7/24",)
    assert found["ens9np0"].quote.line == 6


def test_one_line_for_each_address() -> None:
    found = interfaces(ONE_LINE)
    assert found["ens9np0"].addresses == ("198.51.100.7/24", "fe80::1/64")
    assert found["ens9np0"].up is None
    assert interfaces(ONE_LINE, ADDRESS)["ens9np0"].mtu == 9000


def test_other_tools() -> None:
    found = interfaces(IFCONFIG, BRIEF)
    assert (found["enp3s0"].up, found["enp3s0"].mtu, found["enp3s0"].addresses) == (True, 1500, ("192.0.2.15",))
    assert (found["lo"].up, found["ens9np0"].up, found["lo"].addresses) == (None, True, ("127.0.0.1/8", "::1/128"))


def test_show_gids() -> None:
    assert [(g.device, g.port, g.index, g.kind, g.interface) for g in parse(SHOWN).gids] == [
        ("mlx5_2", 1, 0, "RoCE v1", "ens9np0"),
        ("mlx5_2", 1, 3, "RoCE v2", "ens9np0"),
        ("mlx5_3", 1, 0, "IB", ""),
    ]


def test_verbs() -> None:
    assert [(g.device, g.port, g.index, g.gid, g.kind) for g in parse(VERBS).gids] == [
        ("mlx5_2", 2, 0, "fe80:0000:0000:0000:0000:00ff:fe00:0001", "RoCE v1"),
        ("mlx5_2", 2, 1, "fe80::ff:fe00:1", "RoCE v2"),
    ]


def test_gids_alone_and_shortened() -> None:
    (gid,) = parse("GID[  3]: ::ffff:<ipv4>, RoCE v2\n").gids
    assert (gid.device, gid.index, gid.gid, gid.kind) == ("", 3, "::ffff:<ipv4>", "RoCE v2")


@pytest.mark.parametrize("content", [SYSFS, "\n".join(reversed(SYSFS.splitlines()))])
def test_dump_of_sysfs(content: str) -> None:
    found = sorted(parse(content).gids, key=lambda g: g.index)
    assert [(g.index, g.kind, g.interface) for g in found] == [(0, "RoCE v1", ""), (3, "RoCE v2", "ens9np0")]


def test_devices_and_their_interfaces() -> None:
    found = parse(SYSFS, PAIRED)
    assert {g.interface for g in found.gids} == {"ens9np0"}
    assert found.rdma == (("mlx5_2", "ens9np0"), ("roceP2p1s0f1", "enP2p1s0f1np1"))
    assert [(i.name, i.up) for i in found.interfaces] == [("ens9np0", True), ("enP2p1s0f1np1", False)]


@pytest.mark.parametrize("content", ["12: error: <none>", "inet of things", "NCCL_IB_GID_INDEX=3", "a 1 2 12:34:56"])
def test_other_text_is_nothing(content: str) -> None:
    assert network.parse([text(content)]) is None


def test_any_text() -> None:
    parses_anything(network.PROBE, SAMPLES)
