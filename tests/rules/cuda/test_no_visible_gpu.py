from judging import causes, outcomes

from qops.rule import Confidence, Found
from qops.rules.cuda.no_visible_gpu import no_visible_gpu

ERROR = "Traceback (most recent call last):\nRuntimeError: No CUDA GPUs are available\n"


def test_error_without_a_mask_is_only_possible() -> None:
    (found,) = outcomes(no_visible_gpu, {"job.log": ERROR}) or ()
    assert isinstance(found, Found)
    assert found.confidence is Confidence.POSSIBLE
    assert [q.line for q in found.evidence] == [2]


def test_a_log_without_the_error_is_no_fault() -> None:
    assert causes({"job.log": "torch.cuda.is_available() -> True\nserving\n"}) == []


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(no_visible_gpu, {}) is None
