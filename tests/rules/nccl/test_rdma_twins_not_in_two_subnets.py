from judging import outcomes

from qops.rules.nccl.rdma_twins_not_in_two_subnets import rdma_twins_not_in_two_subnets

SPARK = "GPU 0: NVIDIA GB10 (UUID: GPU-0a0a0a0a-0000-0000-0000-000000000002)\n"
H200 = "GPU 0: NVIDIA H200 (UUID: GPU-0a0a0a0a-0000-0000-0000-000000000001)\n"
PORT = "{} port=1 net={} pci={} numa=0 speed=200000 layer=Ethernet rate=200 Gb/sec (4X HDR) state=4: ACTIVE\n"
PORTS = (
    "== rdma ports\n"
    + PORT.format("rocep1s0f0", "enp1s0f0np0", "0000:01:00.0")
    + PORT.format("roceP2p1s0f0", "enP2p1s0f0np0", "0002:01:00.0")
)


def _ip(*addresses: str) -> str:
    lines = ""
    for number, (name, address) in enumerate(zip(("enp1s0f0np0", "enP2p1s0f0np0"), addresses, strict=True), 2):
        lines += f"{number}: {name}: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP group default\n"
        lines += f"    inet {address} scope global {name}\n" if address else ""
    return lines


def _messages(ip: str, smi: str = SPARK, ports: str = PORTS) -> list[str]:
    found = outcomes(rdma_twins_not_in_two_subnets, {"smi.txt": smi, "ports.txt": ports, "ip.txt": ip}) or ()
    return [o.message for o in found]  # type: ignore[union-attr]


def test_one_of_two_has_no_address() -> None:
    assert _messages(_ip("192.168.200.1/24", "")) == [
        "enP2p1s0f0np0 has no address, so half of the port's rate is left"
    ]


def test_both_in_one_subnet() -> None:
    (message,) = _messages(_ip("192.168.200.1/24", "192.168.200.2/24"))
    assert message.startswith("both are in 192.168.200.0/24")


def test_look_alike_two_subnets() -> None:
    assert _messages(_ip("192.168.200.1/24", "192.168.201.1/24")) == []


def test_look_alike_a_link_that_nobody_set_up() -> None:
    assert _messages(_ip("", "")) == []


def test_look_alike_no_spark_and_no_link() -> None:
    assert _messages(_ip("192.168.200.1/24", ""), H200) == []
    assert _messages(_ip("192.168.200.1/24", ""), ports=PORTS.replace("4: ACTIVE", "1: DOWN")) == []


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(rdma_twins_not_in_two_subnets, {"smi.txt": SPARK}) is None
