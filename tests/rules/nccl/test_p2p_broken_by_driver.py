from judging import causes, outcomes
from nccl_pictures import FAR, REDIRECT, RESULT, gpu_list, p2p, spin, start, tree

from qops.rule import Confidence, Found, RuledOut
from qops.rules.nccl.p2p_broken_by_driver import p2p_broken_by_driver as rule

BOARDS = gpu_list("NVIDIA GeForce RTX 4090", driver="525.60.11", capability="8.9")
HANG = {
    "topo.txt": FAR,
    "p2p.txt": p2p(),
    "gpus.csv": BOARDS,
    "smi.csv": spin(72.0),
    "job.log": start("P2P/direct pointer"),
}
OFF = {"cmdline.txt": "BOOT_IMAGE=/vmlinuz-6.8 ro quiet iommu=off\n"}


def test_consumer_boards_that_are_offered_p2p_and_stand() -> None:
    assert causes(HANG)[:1] == ["p2p-broken-by-driver"]
    (found,) = outcomes(rule, HANG | OFF) or ()
    assert isinstance(found, Found)
    assert found.confidence is Confidence.LIKELY
    assert "525.60.11" in found.message


def test_nccl_tests_that_print_nothing() -> None:
    head = """# Using devices
#   Rank  0 Pid   7744 on box4 device  0 [0x21] NVIDIA GeForce RTX 4090
#   Rank  1 Pid   7744 on box4 device  1 [0x41] NVIDIA GeForce RTX 4090
#       size         count      type   redop     time   algbw   busbw  error
#        (B)    (elements)                       (us)  (GB/s)  (GB/s)
"""
    sample = "Device=0 CAN Access Peer Device=1\nDevice=1 CAN Access Peer Device=0\n"
    assert causes({"tests.log": head, "p2p.log": sample}) == ["p2p-broken-by-driver"]


def test_redirecting_bridges_explain_it_otherwise() -> None:
    told = outcomes(rule, HANG | {"lspci.txt": tree(REDIRECT)}) or ()
    assert [type(o) for o in told] == [RuledOut]


def test_boards_without_p2p_and_boards_that_work_are_no_fault() -> None:
    refused = HANG | {"p2p.txt": p2p("GNS"), "job.log": start("SHM/direct/direct")}
    assert "p2p-broken-by-driver" not in causes(refused)
    assert "p2p-broken-by-driver" not in causes(HANG | {"job.log": start() + RESULT})


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(rule, {}) is None


def test_p2p_of_a_driver_before_it_was_withdrawn_is_a_guess_without_a_stall() -> None:
    quiet = {"gpus.csv": BOARDS, "job.log": start("P2P/direct pointer") + "n4:7:9 [0] NCCL INFO comm 0x55 done\n"}
    (found,) = outcomes(rule, quiet) or ()
    assert isinstance(found, Found) and found.confidence is Confidence.POSSIBLE
    newer = quiet | {"gpus.csv": gpu_list("NVIDIA GeForce RTX 4090", driver="550.54.15", capability="8.9")}
    assert "p2p-broken-by-driver" not in causes(newer)
    assert causes(quiet | {"job.log": start("SHM/direct/direct")}) == []
