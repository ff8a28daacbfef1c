"""Whether a GPU's power limit lies far below what its board comes with."""

from qops.evidence.gpu import Gpu

# Of the board's default. Measured with an RTX PRO 6000 (600 W) that serves: 450 W is as fast as 600 W, and 300 W is up
# to 20 % slower with many requests at once (local-inference-lab/rtx6kpro, hardware/blackwell-power-limit-sweep.md).
LOW_SHARE = 0.75


def is_low(gpu: Gpu) -> bool:
    """Return whether the limit in force is below `LOW_SHARE` of the default; False where either is not said."""
    if gpu.power_limit is None or not gpu.power_limit_default:
        return False
    return gpu.power_limit < LOW_SHARE * gpu.power_limit_default
