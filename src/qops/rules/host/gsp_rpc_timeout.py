"""HST010: the firmware on the GPU does not answer the driver."""

from collections.abc import Iterator

from qops.data.messages import kernel
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Fix, Found, rule


@rule(
    "HST010",
    "gsp-rpc-timeout",
    explains=("xid-event", "cuda-error", "nvml-failed", "nvidia-smi-hung", "gpu-needs-reset"),
    fix=(
        Fix(
            "reset the GPU, and move to a driver whose release notes name this time-out",
            commands=("nvidia-smi -q | grep -i gsp", "cat /proc/driver/nvidia/version"),
            risk="a reset ends every job on that GPU",
        ),
        Fix(
            "run without the firmware (NVreg_EnableGpuFirmware=0); only the closed module of older GPUs can",
            kind="workaround",
            needs_reboot=True,
        ),
    ),
)
def gsp_rpc_timeout(logs: Logs) -> Iterator[Found]:
    """The firmware on the GPU (GSP) does not answer the driver (Xid 119, 120)."""
    xids, texts = logs.find(kernel.XID_GSP), logs.find(kernel.GSP_TIMEOUT)
    if not xids and not texts:
        return
    bus = next((h.groups["bus"] for h in xids if "bus" in h.groups), "")
    yield Found(
        subject=f"GPU {bus}" if bus else "GPU",
        message="the GPU's firmware (GSP) does not answer the driver's calls"
        + (f", Xid {xids[0].groups['code']}" if xids else ""),
        evidence=quotes((*xids, *texts), 4),
        confidence=Confidence.CERTAIN,
    )
