from judging import causes, diagnose, outcomes

from qops.rules.nccl.mtu_mismatch_or_small import mtu_mismatch_or_small as rule

PING = "PING 192.168.100.2 (192.168.100.2) 8972(9000) bytes of data.\nping: local error: message too long, mtu=1500\n"
PAIR = "n{0}:5:9 [0] NCCL INFO NET/IB: Dev 0 Port 1 qpn 7{0} mtu {1} GID 3 (0/51E{0}A8C0FFFF0000)\n"
FAILED = "n1:5:9 [0] NCCL WARN NET/IB : Got completion from peer 10.5.0.4<5001> with status=12 opcode=0 len=0 vendor err 129 (Recv)\n"


def test_a_large_packet_does_not_pass() -> None:
    report = diagnose({"ping.txt": PING})
    assert report.root is not None and report.root.cause == "mtu-mismatch-or-small"
    assert "1500" in report.root.message


def test_connections_of_one_job_with_different_mtus() -> None:
    log = {"job.log": PAIR.format(1, 5) + PAIR.format(2, 3) + FAILED}
    assert causes(log)[:1] == ["mtu-mismatch-or-small"]
    assert "4096" in diagnose(log).findings[0].message


def test_equal_mtus_with_the_same_error_are_another_fault() -> None:
    assert "mtu-mismatch-or-small" not in causes({"job.log": PAIR.format(1, 5) + PAIR.format(2, 5) + FAILED})


def test_a_length_error_points_at_it_with_status_1() -> None:
    assert causes({"job.log": FAILED.replace("status=12", "status=1")})[:1] == ["mtu-mismatch-or-small"]


def test_what_rdma_tools_print_of_a_default_mtu_is_a_warning() -> None:
    files = {
        "bw.txt": " Link type       : Ethernet\n Mtu             : 1024[B]\n",
        "info.txt": "\tactive_mtu:\t\t1024 (3)\n",
    }
    report = diagnose(files)
    assert [f.cause for f in report.findings if f.severity != "info"] == ["mtu-mismatch-or-small"]
    assert report.root is None
    assert causes({"info.txt": "\tactive_mtu:\t\t4096 (5)\n"}) == []


def test_a_default_mtu_on_an_ordinary_interface_is_no_fault() -> None:
    link = (
        "2: eno1: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq state UP mode DEFAULT group default qlen 1000\n"
    )
    assert causes({"ip.txt": link}) == []


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(rule, {}) is None
