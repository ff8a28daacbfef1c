"""HST008: a GPU is no longer on the PCIe bus."""

from collections.abc import Iterator

from qops.data.messages import kernel
from qops.evidence.gpu import Gpus
from qops.evidence.message import Logs, quotes
from qops.evidence.pcie import PcieTree
from qops.evidence.text import Quote
from qops.rule import Confidence, Fix, Found, rule

DRIVEN = ("", "nvidia")  # a GPU that another driver holds is not missing


@rule(
    "HST008",
    "gpu-fell-off-bus",
    explains=(
        "xid-event",
        "nvlink-error",
        "cuda-error",
        "gsp-rpc-timeout",
        "nvml-failed",
        "no-visible-gpu",
        "fabric-state-in-progress",
        "gpu-needs-reset",
    ),
    fix=(
        Fix(
            "power the host off and on; if it comes back, check power supply and cables, riser, slot and link speed",
            commands=("lspci -nn -d 10de:", "journalctl -k -b --no-pager --grep 'Xid|AER|pcieport'"),
            risk="every job on this host ends",
            needs_reboot=True,
        ),
    ),
)
def gpu_fell_off_bus(logs: Logs, gpus: Gpus | None, pcie: PcieTree | None) -> Iterator[Found]:
    """A GPU is no longer on the PCIe bus (Xid 79)."""
    xids, texts = logs.find(kernel.XID_BUS), logs.find(kernel.FELL_OFF_BUS)
    if xids or texts:
        bus = next((h.groups["bus"] for h in (*xids, *texts) if "bus" in h.groups), "")
        plain = any("fallen off the bus" in h.quote.text for h in texts)
        yield Found(
            subject=f"GPU {bus}" if bus else "GPU",
            message="the GPU does not answer on the PCIe bus any more",
            evidence=quotes((*xids, *texts), 4),
            confidence=Confidence.CERTAIN if xids or plain else Confidence.LIKELY,
        )
    elif gpus and pcie and gpus.attached is not None:
        present = tuple(d for d in pcie.gpus if d.driver in DRIVEN)
        if len(present) > gpus.attached > 0:
            said: tuple[Quote, ...] = (gpus.quote,) if gpus.quote else ()
            yield Found(
                subject="host",
                message=f"lspci shows {len(present)} GPUs and the driver has {gpus.attached}",
                evidence=(*said, *(d.quote for d in present[:2])),
            )
