import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from qops.derive.derived import Derived
from qops.derive.hardware_class import HardwareClass
from qops.derive.setting import State
from qops.errors import UsageError
from qops.evidence.network import Gid, Interface, Network, NetworkConfig, NetworkFile, RdmaPort, RdmaPorts
from qops.evidence.text import Quote
from qops.plans import Plan
from qops.plans.rdma_network import PLAN

QUOTE = Quote("rdma ports", 2, "rocep1s0f0 port=1")
SPARK = Derived(HardwareClass.SPARK, "nvidia-smi shows 1 board GB10")
HGX = Derived(HardwareClass.HGX, "nvidia-smi shows 8 boards H200")
A, B = "enp1s0f0np0", "enP2p1s0f0np0"
GOLDENS = Path(__file__).parent / "goldens"


def _port(device: str, interface: str, address: str, *, up: bool = True) -> RdmaPort:
    return RdmaPort(device, 1, QUOTE, interface, address, up, 200.0, ethernet=True, speed=200.0 if up else None)


PORTS = RdmaPorts(
    (
        _port("roceP2p1s0f0", B, "0002:01:00.0"),
        _port("rocep1s0f0", A, "0000:01:00.0"),
        _port("rocep1s0f1", "enp1s0f1np1", "0000:01:00.1", up=False),
    ),
    QUOTE,
)
CONFIG = NetworkConfig(QUOTE, managers=("netplan",), default=("wlP9s9",), wireless=("wlP9s9",))
PAIR = {"hosts": ["spark-a", "spark-b"], "host": "spark-b"}


def _network(mtu: int = 1500, **addresses: str) -> Network:
    has = {A: (), B: (), "wlP9s9": ("192.168.1.20/24",), **{name: (a,) for name, a in addresses.items()}}
    return Network(tuple(Interface(n, QUOTE, True, mtu, a) for n, a in has.items()))


def _plan(
    network: Network | None = None, config: NetworkConfig = CONFIG, ports: RdmaPorts | None = PORTS,
    hardware: Derived[HardwareClass] = SPARK, **options: object,
) -> Plan:  # fmt: skip
    seen = {Network: network or _network(), NetworkConfig: config, **({RdmaPorts: ports} if ports else {})}
    return PLAN.make(seen, hardware, {**PLAN.defaults, **options})


def _values(plan: Plan) -> dict[str, str]:
    return {s.key: s.value for s in plan.settings}


def test_a_bare_pair_gets_addresses_in_two_subnets() -> None:
    plan = _plan(**PAIR)
    assert plan.differs and not plan.refused
    assert _values(plan) == {
        f"address of {A}": "192.168.200.2/24",
        f"address of {B}": "192.168.201.2/24",
        f"MTU of {A}": "9000",
        f"MTU of {B}": "9000",
        "NCCL_IB_HCA": "=rocep1s0f0,roceP2p1s0f0",
        "NCCL_SOCKET_IFNAME": f"={A}",
        "NCCL_IB_GID_INDEX": "what the unit finds",
    }
    assert plan.facts["environment"] == {
        "hcas": "rocep1s0f0,roceP2p1s0f0", "gid": "resolve", "socket": A, "wait": "60",
    }  # fmt: skip
    (file,) = plan.facts["network_files"]
    assert (file["dest"], file["mode"]) == ("/etc/netplan/40-cx7.yaml", "0600")
    assert any("ib_write_bw -d rocep1s0f0" in n for n in plan.notes)


@pytest.mark.parametrize("manager", ["netplan", "NetworkManager", "systemd-networkd"])
def test_what_is_written_for_each_program(manager: str) -> None:
    plan = _plan(config=replace(CONFIG, managers=(manager,)), **PAIR)
    text = "".join(f"== {f['dest']} {f['mode']} {f['group']}\n{f['content']}" for f in plan.facts["network_files"])
    golden = GOLDENS / "rdma_network" / manager
    if os.environ.get("QOPS_UPDATE_GOLDENS"):
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


def test_netplan_s_file_is_yaml_that_says_so() -> None:
    import yaml

    (file,) = _plan(**PAIR).facts["network_files"]
    ethernets = yaml.safe_load(file["content"])["network"]["ethernets"]
    assert {name: e["addresses"] for name, e in ethernets.items()} == {A: ["192.168.200.2/24"], B: ["192.168.201.2/24"]}
    assert {e["mtu"] for e in ethernets.values()} == {9000}


def test_networkd_that_does_not_run_is_started_at_boot() -> None:
    link = "/etc/systemd/system/multi-user.target.wants/systemd-networkd.service"
    stopped = _plan(config=replace(CONFIG, managers=("systemd-networkd",)), **PAIR)
    assert link in [f["dest"] for f in stopped.facts["files"]]
    running = replace(CONFIG, managers=("systemd-networkd",), running=("systemd-networkd",))
    assert link not in [f["dest"] for f in _plan(config=running, **PAIR).facts["files"]]


SET_UP = replace(
    CONFIG,
    files=(NetworkFile("/etc/netplan/40-cx7.yaml", True, {A: "192.168.200.2/24", B: "192.168.201.2/24"}),),
    environment={"NCCL_IB_HCA": "=rocep1s0f0,roceP2p1s0f0", "NCCL_SOCKET_IFNAME": f"={A}", "NCCL_IB_GID_INDEX": "3"},
)


def _gids(*indexes: int) -> tuple[Gid, ...]:
    mapped = "0000:0000:0000:0000:0000:ffff:c0a8:c802"
    devices = ("rocep1s0f0", "roceP2p1s0f0")
    return tuple(Gid(d, 1, n, mapped, "RoCE v2", QUOTE) for d, n in zip(devices, indexes, strict=True))


ADDRESSED = replace(_network(9000, **{A: "192.168.200.2/24", B: "192.168.201.2/24"}), gids=_gids(3, 3))


def test_once_set_up_nothing_differs_and_the_file_is_the_same() -> None:
    plan = _plan(ADDRESSED, SET_UP, **PAIR)
    assert not plan.differs
    assert plan.facts["network_files"] == _plan(**PAIR).facts["network_files"]
    assert plan.notes == ()


@pytest.mark.parametrize(("indexes", "value"), [((5, 5), "5"), ((3, 4), "what the unit finds")])
def test_an_index_that_has_moved_is_found_anew(indexes: tuple[int, int], value: str) -> None:
    plan = _plan(replace(ADDRESSED, gids=_gids(*indexes)), SET_UP, **PAIR)
    assert [(s.key, s.value, s.current) for s in plan.settings if s.state is State.DIFFERS] == [
        ("NCCL_IB_GID_INDEX", value, "3")
    ]


def test_a_new_order_of_the_hosts_moves_no_address() -> None:
    plan = _plan(ADDRESSED, SET_UP, hosts=["spark-b", "spark-a"], host="spark-b")
    assert not plan.differs
    assert _values(plan)[f"address of {A}"] == "192.168.200.2/24"
    moved = _plan(ADDRESSED, SET_UP, hosts=["spark-b", "spark-a"], host="spark-b", replace_addresses=True)
    assert _values(moved)[f"address of {A}"] == "192.168.200.1/24"
    assert moved.differs


def test_a_cable_that_is_out_takes_no_address_away() -> None:
    unplugged = RdmaPorts((*(replace(p, active=False) for p in PORTS.ports[:1]), *PORTS.ports[1:]), QUOTE)
    plan = _plan(ADDRESSED, SET_UP, unplugged, **PAIR)
    (file,) = plan.facts["network_files"]
    assert A in file["content"] and B in file["content"]
    nothing = RdmaPorts(tuple(replace(p, active=False) for p in PORTS.ports), QUOTE)
    assert _plan(ADDRESSED, SET_UP, nothing, **PAIR).facts["network_files"] == []


def test_addresses_that_are_there_are_kept_and_written_nowhere() -> None:
    theirs = _network(9000, **{A: "10.9.0.7/24", B: "10.9.1.7/24"})
    plan = _plan(theirs, **PAIR)
    assert not plan.refused
    assert _values(plan)[f"address of {A}"] == "10.9.0.7/24"
    assert plan.facts["network_files"] == []
    assert [s.key for s in plan.settings if s.state is State.DIFFERS] == [
        "NCCL_IB_HCA",
        "NCCL_SOCKET_IFNAME",
        "NCCL_IB_GID_INDEX",
    ]
    asked = _plan(theirs, addresses={A: "10.8.0.1/24"}, **PAIR)
    assert _values(asked)[f"address of {A}"] == "10.8.0.1/24"
    assert list(asked.facts["interfaces"]) == [A]


def test_a_host_that_lost_one_address_gets_it_back_with_its_own_number() -> None:
    half = _network(9000, **{A: "192.168.200.7/24"})
    assert _values(_plan(half, **PAIR))[f"address of {B}"] == "192.168.201.7/24"
    assert _values(_plan(half, replace_addresses=True, **PAIR))[f"address of {B}"] == "192.168.201.2/24"


def test_the_mtu_of_what_somebody_else_configures_is_left_with_a_word() -> None:
    plan = _plan(_network(1500, **{A: "10.9.0.7/24", B: "10.9.1.7/24"}), **PAIR)
    (setting,) = (s for s in plan.settings if s.key == f"MTU of {A}")
    assert setting.state is State.LEFT
    assert "set its MTU of 9000 there" in setting.because


def test_twins_in_one_subnet_and_link_local_addresses_are_reported() -> None:
    plan = _plan(_network(9000, **{A: "169.254.248.35/16", B: "169.254.30.81/16"}), **PAIR)
    assert any("both in 169.254.0.0/16" in n for n in plan.notes)
    assert any(n.startswith(f"{A} has a link-local address") for n in plan.notes)
    mended = _plan(_network(9000, **{A: "169.254.248.35/16"}), replace_addresses=True, **PAIR)
    assert _values(mended)[f"address of {A}"] == "192.168.200.2/24"


def test_a_file_of_somebody_else_is_not_overwritten() -> None:
    foreign = replace(CONFIG, files=(NetworkFile("/etc/netplan/40-cx7.yaml", False, {}),))
    (refused,) = _plan(config=foreign, **PAIR).refused
    assert refused.startswith("/etc/netplan/40-cx7.yaml is there and not qops's")
    assert _plan(config=foreign, replace_addresses=True, **PAIR).refused == ()


def test_a_subnet_that_the_management_network_has_is_refused() -> None:
    (first, second) = _plan(_network(wlP9s9="192.168.200.77/21"), **PAIR).refused
    assert first.startswith(f"192.168.200.2/24 for {A} lies in the network of wlP9s9 (192.168.200.77/21)")
    assert second.startswith("192.168.201.2/24")


def test_without_cabled_hosts_nothing_is_given() -> None:
    plan = _plan()
    assert not plan.differs
    assert plan.facts["environment"] is None and plan.facts["files"] == []
    assert any("rdma_network_hosts" in s.because for s in plan.settings)


def test_hosts_without_rdma_and_without_a_cable() -> None:
    (none,) = _plan(ports=RdmaPorts((), QUOTE)).settings
    assert none.because == "this host has no RDMA device"
    (down,) = _plan(ports=RdmaPorts(PORTS.ports[2:], QUOTE)).settings
    assert "no RDMA port is linked" in down.because
    seen = {NetworkConfig: CONFIG}
    assert PLAN.make(seen, SPARK, PLAN.defaults).unseen == ("RDMA",)


def test_an_interface_that_nobody_saw_is_unseen() -> None:
    assert _plan(Network(), **PAIR).unseen == (f"address of {A}", f"address of {B}")


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"host": "spark-z"}, "spark-z"),
        ({"subnets": ["10.0.0.0/24"]}, "2 ports are linked"),
        ({"addresses": {"eth9": "10.0.0.1/24"}}, "eth9"),
        ({"hca": "mlx5_9"}, "this host has no mlx5_9"),
    ],
)
def test_what_does_not_fit_this_host_is_refused(options: dict[str, object], word: str) -> None:
    plan = _plan(**{**PAIR, **options})
    assert any(word in r for r in plan.refused)


def test_nobody_to_configure_the_network() -> None:
    assert any("neither netplan" in r for r in _plan(config=replace(CONFIG, managers=()), **PAIR).refused)


def test_a_slow_link_is_always_reported() -> None:
    slow = RdmaPorts((replace(PORTS.ports[0], speed=100.0), *PORTS.ports[1:]), QUOTE)
    assert _plan(ADDRESSED, SET_UP, slow, **PAIR).notes == (f"{B} is linked at 100 Gb/s and not at 200: see the cable",)


def test_infiniband_needs_no_address_and_no_gid_index() -> None:
    ports = tuple(RdmaPort(f"mlx5_{n}", 1, QUOTE, f"ibp{n}", f"0000:{n}c:00.0", True, 400.0) for n in (10, 2, 1))
    plan = _plan(ports=RdmaPorts(ports, QUOTE), hardware=HGX)
    assert _values(plan)["NCCL_IB_HCA"] == "=mlx5_1,mlx5_2,mlx5_10"
    assert plan.facts["environment"] == {"hcas": "mlx5_1,mlx5_2,mlx5_10", "gid": "leave", "socket": "", "wait": "60"}
    assert plan.facts["network_files"] == []


def test_a_list_of_devices_and_an_interface_by_hand() -> None:
    plan = _plan(ADDRESSED, hca="rocep1s0f0", socket_interface="leave", gid_index="leave", **PAIR)
    assert plan.facts["environment"] == {"hcas": "rocep1s0f0", "gid": "leave", "socket": "", "wait": "60"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"hosts": ["a", "a"]},
        {"subnets": ["10.0.0.0/24", "10.0.0.128/25"]},
        {"subnets": ["10.0.0.1/24"]},
        {"subnets": ["10.0.0.0/31"], "hosts": ["a", "b"]},
        {"addresses": {A: "10.0.0.300/24"}},
        {"mtu": "big"},
        {"mtu": 100},
        {"gid_index": 3},
        {"hca": "mlx5_0;reboot"},
        {"wait": "soon"},
    ],
)
def test_values_that_cannot_be(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="rdma_network_"):
        _plan(**wrong)
