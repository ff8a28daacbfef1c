from judging import causes, diagnose, outcomes
from nccl_pictures import FAR, NVLINK, RESULT, start

from qops.rule import Found
from qops.rules.nccl.nccl_link_not_used import nccl_link_not_used as rule

OFF = start("SHM/direct/direct", settings=["NCCL_P2P_DISABLE set by environment to 1"]) + RESULT


def test_nvlink_that_a_setting_leaves_unused() -> None:
    (found,) = outcomes(rule, {"topo.txt": NVLINK, "job.log": OFF}) or ()
    assert isinstance(found, Found)
    assert "12 NVLinks between GPU0 and GPU1" in found.message and "24 GB/s" in found.message
    assert diagnose({"topo.txt": NVLINK, "job.log": OFF}).root is None
    assert causes({"topo.txt": NVLINK, "job.log": OFF}) == []


def test_without_shared_memory_it_is_the_network() -> None:
    log = start(
        "NET/Socket/0",
        settings=["NCCL_P2P_DISABLE set by environment to 1", "NCCL_SHM_DISABLE set by environment to 1."],
    )
    (found,) = outcomes(rule, {"topo.txt": NVLINK, "job.log": log}) or ()
    assert isinstance(found, Found)
    assert "through the network" in found.message


def test_a_link_in_use_and_a_far_path_say_nothing() -> None:
    assert outcomes(rule, {"topo.txt": NVLINK, "job.log": start("P2P/CUMEM") + RESULT}) == ()
    assert outcomes(rule, {"topo.txt": FAR, "job.log": OFF}) == ()


def test_nothing_seen_says_nothing() -> None:
    assert outcomes(rule, {}) == ()
