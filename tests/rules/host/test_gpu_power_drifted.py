from judging import found, judged, outcomes
from msgspec.structs import replace

from qops.evidence.gpu import Gpu, Gpus
from qops.evidence.intent import Intent
from qops.evidence.power import ClockLocks
from qops.evidence.text import Quote
from qops.rules.host.gpu_power_drifted import gpu_power_drifted

GPU = Gpu(
    0, Quote("nvidia-smi -q -x", 7, "<gpu>"), "NVIDIA RTX PRO 6000 Blackwell Server Edition", "00000000:06:00.0",
    "GPU-01", power_limit=600.0, power_limit_default=600.0, power_limit_min=300.0, power_limit_max=600.0,
    persistence=True,
)  # fmt: skip
MEANT = Intent(("gpu_power",), "", {"gpu.power_limit": "350", "gpu.clocks": "600,2100"})
LOCKED = ClockLocks({"GPU-01": "600,2100"})


def test_a_limit_that_was_lost() -> None:
    (one,) = found(gpu_power_drifted, Gpus((GPU,)), MEANT, LOCKED)
    assert one.message == "the role gpu_power was told otherwise: power limit 600 and not 350"
    assert one.subject == "GPU 0 (00000000:06:00.0)"


def test_clocks_and_persistence_mode_that_were_lost() -> None:
    off = replace(GPU, power_limit=350.0, persistence=False)
    (one,) = found(gpu_power_drifted, Gpus((off,)), MEANT, ClockLocks({}))
    assert one.message.endswith("persistence off and not on, clocks not set and not 600,2100")


def test_what_the_board_makes_of_a_choice_is_no_drift() -> None:
    low = Intent(("gpu_power",), "", {"gpu.power_limit": "280"})
    assert found(gpu_power_drifted, Gpus((replace(GPU, power_limit=300.0),)), low, ClockLocks({})) == []


def test_look_alike_nobody_chose() -> None:
    other = Intent(("host_tuning",))
    capped = Gpus((replace(GPU, power_limit=400.0),))
    assert found(gpu_power_drifted, capped, other, ClockLocks({})) == []
    assert found(gpu_power_drifted, capped) == []
    assert found(gpu_power_drifted, capped, Intent(("gpu_power",)), ClockLocks({})) == []


def test_locks_that_nobody_saw_are_not_judged() -> None:
    assert judged(gpu_power_drifted, Gpus((replace(GPU, power_limit=350.0),)), MEANT) == ()


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(gpu_power_drifted, {}) is None
