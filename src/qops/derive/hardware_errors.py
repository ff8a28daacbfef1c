"""Whether the hardware reported an error of its own, which then explains what programs see."""

from qops.data.messages import cuda, device, kernel
from qops.evidence.message import Hit, Logs


def hardware_errors(logs: Logs) -> tuple[Hit, ...]:
    """Return where a GPU's memory, its bus or its link is said to have failed."""
    return logs.find(
        kernel.XID_MEMORY, kernel.XID_BUS, kernel.FELL_OFF_BUS, cuda.ECC_UNCORRECTABLE, device.AER_UNCORRECTABLE
    )
