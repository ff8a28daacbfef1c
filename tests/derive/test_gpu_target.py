import pytest

from qops.derive.gpu_target import runs_on


@pytest.mark.parametrize(
    ("target", "capability", "runs"),
    [
        ("sm_90", (9, 0), True),
        ("sm_80", (8, 6), True),
        ("sm_86", (8, 0), False),
        ("sm_90", (10, 0), False),
        ("sm_90a", (9, 0), True),
        ("sm_120a", (12, 1), False),
        ("sm_120f", (12, 1), True),
        ("sm_120", (12, 1), True),
        ("sm_121a", (12, 1), True),
        ("compute_90", (12, 0), True),
        ("compute_90a", (12, 0), False),
        ("compute_120f", (12, 1), True),
        ("compute_121", (12, 0), False),
        ("sm_x", (12, 0), False),
    ],
)
def test_what_runs_on_which_gpu(target: str, capability: tuple[int, int], runs: bool) -> None:
    assert runs_on(target, capability) is runs
