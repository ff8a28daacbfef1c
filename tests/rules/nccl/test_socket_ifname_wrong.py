import pytest
from judging import causes, outcomes
from nccl_pictures import RESULT, start

from qops.evidence.process import Variable
from qops.evidence.text import Quote
from qops.rule import Confidence, Found
from qops.rules.nccl.socket_ifname_wrong import matches
from qops.rules.nccl.socket_ifname_wrong import socket_ifname_wrong as rule

NONE = """h1:40:40 [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to ens9
[2026-10-01 08:00:00] h1:40:40 [0] bootstrap.cc:126 NCCL WARN Bootstrap : no socket interface found
"""
FALLBACK = (
    "[rank1]:[W1001 08:00:00.1 ProcessGroupGloo.cpp:715] Warning: Unable to resolve hostname to a (local) address. "
    "Using the loopback address as fallback. Manually set the network interface to bind to with GLOO_SOCKET_IFNAME.\n"
)
REFUSED = (
    "RuntimeError: Gloo connectFullMesh failed with [../third_party/gloo/gloo/transport/tcp/pair.cc:144] no error\n"
    "timed out connecting: SO_ERROR: Connection refused, remote=[127.0.1.1]:40613\n"
)
ADDRESSES = (
    "1: lo    inet 127.0.0.1/8 scope host lo\\       valid_lft forever preferred_lft forever\n"
    "2: enp5s0    inet 10.20.0.7/24 brd 10.20.0.255 scope global enp5s0\\       valid_lft forever\n"
)


def test_nccl_finds_no_interface() -> None:
    (found,) = outcomes(rule, {"job.log": NONE}) or ()
    assert isinstance(found, Found)
    assert "NCCL_SOCKET_IFNAME=ens9" in found.message
    assert causes({"job.log": NONE})[:1] == ["socket-ifname-wrong"]


def test_the_silent_failure_of_one_release() -> None:
    text = (
        "Last error:\nncclSocketInit: connecting to address  with family 59936 is neither AF_INET(2) nor AF_INET6(10)\n"
    )
    assert causes({"job.log": text}) == ["socket-ifname-wrong"]


def test_gloo_is_sent_to_its_own_loopback() -> None:
    (found,) = outcomes(rule, {"job.log": FALLBACK + REFUSED}) or ()
    assert isinstance(found, Found)
    assert found.confidence is Confidence.CERTAIN and "127.0.1.1" in found.message


def test_the_warning_alone_is_no_fault() -> None:
    assert causes({"job.log": FALLBACK + "INFO: Application startup complete.\n"}) == []


def test_a_refused_connection_elsewhere_is_another_fault() -> None:
    assert "socket-ifname-wrong" not in causes({"job.log": REFUSED.replace("127.0.1.1", "10.20.0.8")})


def test_loopback_in_a_job_of_two_hosts() -> None:
    two = start("NET/Socket/0", hosts=("a1", "a2")).replace("eno1:10.20.0.7", "lo:127.0.0.1")
    assert causes({"job.log": two}) == ["socket-ifname-wrong"]
    one = start("P2P/IPC").replace("eno1:10.20.0.7", "lo:127.0.0.1")
    assert "socket-ifname-wrong" not in causes({"job.log": one})


def test_a_name_that_no_interface_has() -> None:
    assert causes({"env.txt": "GLOO_SOCKET_IFNAME=eth0\n", "ip.txt": ADDRESSES}) == ["socket-ifname-wrong"]
    assert causes({"env.txt": "NCCL_SOCKET_IFNAME=enp\n", "ip.txt": ADDRESSES}) == []
    works = {"env.txt": "GLOO_SOCKET_IFNAME=eth0\n", "ip.txt": ADDRESSES, "job.log": start() + RESULT}
    assert causes(works) == []


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("NCCL_SOCKET_IFNAME", "eth", True),
        ("NCCL_SOCKET_IFNAME", "=eth", False),
        ("NCCL_SOCKET_IFNAME", "=eth0", True),
        ("NCCL_SOCKET_IFNAME", "^lo,docker", True),
        ("NCCL_SOCKET_IFNAME", "^eth,lo", False),
        ("NCCL_SOCKET_IFNAME", "ib0,bond0", False),
        ("GLOO_SOCKET_IFNAME", "eth", False),
        ("GLOO_SOCKET_IFNAME", "eth0", True),
    ],
)
def test_lists_are_prefixes_to_nccl_and_names_to_gloo(name: str, value: str, expected: bool) -> None:
    setting = Variable(name, value, "shell", Quote("env.txt", 1, f"{name}={value}"))
    assert matches(setting, ["lo", "eth0"]) is expected


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(rule, {}) is None


USING = "{0}:31:31 [0] NCCL INFO Bootstrap: Using {1}:{2}<0>\n"
REFUSES = (
    "h2:32:60 [0] misc/socket.cc:511 NCCL WARN socketStartConnect: Connect to {0}<40111> failed : Connection refused\n"
)


def test_gloo_fell_back_and_could_not_connect() -> None:
    failed = "[rank9]:[E ProcessGroupGloo.cpp:144] Gloo connectFullMesh failed with [pair.cc:144] no error\n"
    assert causes({"job.log": FALLBACK + failed}) == ["socket-ifname-wrong"]
    assert causes({"job.log": failed}) == []


@pytest.mark.parametrize("name", ["docker0", "virbr0", "br-1a2b3c4d5e6f", "lo"])
def test_two_hosts_meet_on_an_interface_that_both_have(name: str) -> None:
    log = USING.format("h1", name, "172.17.0.1") + USING.format("h2", name, "172.17.0.1")
    assert causes({"job.log": log}) == ["socket-ifname-wrong"]


def test_a_bridge_and_a_refused_connection() -> None:
    assert causes({"job.log": USING.format("h1", "docker0", "172.17.0.1")}) == []
    log = USING.format("h1", "docker0", "172.17.0.1") + REFUSES.format("172.17.0.1")
    assert causes({"job.log": log}) == ["socket-ifname-wrong"]
    other = USING.format("h1", "eno1", "10.20.0.7") + REFUSES.format("10.20.0.8")
    assert causes({"job.log": other}) == []


def test_different_releases_garble_an_address_too() -> None:
    log = "ncclSocketInit: connecting to address  with family 0 is neither AF_INET(2) nor AF_INET6(10)\n"
    packages = "nvidia-nccl-cu12==2.27.3\nh2:\nnvidia-nccl-cu12==2.27.7\n"
    assert causes({"job.log": log, "pip.txt": packages}) == ["nccl-rank-config-mismatch"]


@pytest.mark.parametrize(("name", "accused"), [("lo", True), ("=docker0", True), ("enp9s0", False)])
def test_gloo_was_told_to_stay_inside(name: str, accused: bool) -> None:
    failed = "RuntimeError: Gloo connectFullMesh failed with [pair.cc:144] no error\n"
    told = {"env.txt": f"GLOO_SOCKET_IFNAME={name}\n"}
    assert causes({"job.log": failed, **told}) == (["socket-ifname-wrong"] if accused else [])
    assert causes({"job.log": "INFO: Application startup complete.\n", **told}) == []


def test_a_list_of_rdma_interfaces_alone_shows_no_absence() -> None:
    env = "NCCL_IB_HCA=rocep1s0f0,roceP2p1s0f0\nNCCL_SOCKET_IFNAME=enP7s7\n"
    pairs = "rocep1s0f0 port 1 ==> enp1s0f0np0 (Up)\nroceP2p1s0f0 port 1 ==> enP2p1s0f0np0 (Up)\n"
    assert causes({"env.txt": env, "other.txt": pairs}) == []


def test_old_releases_find_no_interface_either() -> None:
    line = "c81:12:12 [0] include/socket.h:311 WARN Socket creation failed : Address family not supported by protocol\n"
    assert causes({"job.log": line}) == ["socket-ifname-wrong"]


@pytest.mark.parametrize(("address", "expected"), [("127.0.1.1", ["socket-ifname-wrong"]), ("127.0.0.1", [])])
def test_gloo_is_refused_by_its_own_host_in_old_words(address: str, expected: list[str]) -> None:
    line = f"  what():  [/src/third_party/gloo/gloo/transport/tcp/pair.cc:799] connect [{address}]:40613: Connection refused\n"
    assert causes({"job.log": line}) == expected


def test_gloo_that_names_no_error_is_a_guess_unless_its_interface_was_chosen() -> None:
    line = REFUSED.splitlines(keepends=True)[0]
    (found,) = outcomes(rule, {"job.log": line}) or ()
    assert isinstance(found, Found) and found.confidence is Confidence.POSSIBLE
    assert "socket-ifname-wrong" not in causes({"job.log": line, "env.txt": "GLOO_SOCKET_IFNAME=bond4\n"})


def test_a_connection_to_another_hosts_container_bridge() -> None:
    using = "g1:7:9 [0] NCCL INFO NET/Socket : Using [0]bond0:10.20.0.7<0> [1]br-0af1c29d77e1:172.22.0.1<0> [2]veth1c0ffee:fe80::1%veth1c0ffee<0>\n"
    failed = "g1:7:12 [0] include/socket.h:409 NCCL WARN Net : Connect to {}<40613> failed : Connection refused\n"
    assert causes({"job.log": using + failed.format("172.22.0.1")}) == ["socket-ifname-wrong"]
    assert causes({"job.log": using + failed.format("10.20.0.8")}) == []
