import pytest
from judging import found, outcomes
from msgspec.structs import replace
from scenes import readings

from qops.evidence.gpu import Gpu, GpuProcess, Gpus
from qops.evidence.text import Quote
from qops.rule import Confidence
from qops.rules.host.gpu_busy_without_process import gpu_busy_without_process as rule

QUOTE = Quote("nvidia-smi", 1, "row")
STUCK = Gpu(0, QUOTE, uuid="GPU-1", utilization=100, memory_used=0, persistence=True)
LATCHED, WAITS = (100, 0, 102.0, 0), (100, 0, 118.0, 1622)


def test_busy_and_empty_for_as_long_as_it_was_looked_at() -> None:
    (one,) = found(rule, Gpus((replace(STUCK, persistence=False),)), readings(LATCHED))
    assert one.confidence is Confidence.LIKELY
    assert "100 % busy for 10 s with 0 MiB" in one.message


def test_one_moment_under_persistence_mode_is_possible() -> None:
    (one,) = found(rule, Gpus((STUCK,), processes=()))
    assert one.confidence is Confidence.POSSIBLE


@pytest.mark.parametrize(
    "change",
    [
        {"persistence": False},  # nvidia-smi itself started the GPU
        {"persistence": None},
        {"memory_used": 1622 << 20},  # a rank that waits, or one in a container that is not seen from here
        {"memory_used": None},  # GB10 does not say
        {"utilization": 40},
        {"utilization": None},
    ],
)
def test_one_moment_of_others_is_left_alone(change: dict[str, object]) -> None:
    assert found(rule, Gpus((replace(STUCK, **change),))) == []


def test_a_process_on_it_is_an_explanation() -> None:
    process = GpuProcess(7, "GPU-1", "python3", None, QUOTE)
    assert found(rule, Gpus((STUCK,), processes=(process,))) == []


def test_readings_that_hold_memory_are_those_of_a_job() -> None:
    assert found(rule, Gpus((replace(STUCK, persistence=False),)), readings(WAITS)) == []


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(rule, {}) is None
