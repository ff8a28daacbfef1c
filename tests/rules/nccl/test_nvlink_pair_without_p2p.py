from judging import causes, outcomes

from qops.rules.nccl.nvlink_pair_without_p2p import nvlink_pair_without_p2p as rule

NVLINK = (
    "d1:6:6 [0] graph/paths.cc:396 NCCL WARN P2P is disabled between NVLINK connected GPUs 2 and 5. This should not be "
    "the case given their connectivity, and is probably due to a hardware issue.\n"
)


def test_an_nvlink_pair_that_is_refused() -> None:
    assert causes({"job.log": NVLINK + NVLINK}) == ["nvlink-pair-without-p2p"]
    assert len(outcomes(rule, {"job.log": NVLINK + NVLINK}) or ()) == 1


def test_a_pcie_pair_that_is_refused_is_no_fault() -> None:
    line = "d1:6:6 [0] NCCL INFO P2P is disabled between connected GPUs 1 and 0. You can repress this message.\n"
    assert causes({"job.log": line}) == []


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(rule, {}) is None
