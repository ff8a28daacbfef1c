"""HST011: a GPU's PCIe link is narrower, or under load slower, than both ends can."""

from collections.abc import Iterator

from qops.data.messages import device as gpu_device
from qops.data.messages import kernel, launch
from qops.evidence.gpu import Gpu, Gpus
from qops.evidence.message import Logs, quotes
from qops.evidence.pcie import PcieTree
from qops.rule import Confidence, Fix, Found, RuledOut, Severity, rule

MOST_LANES = 32  # PCI Express base specification
BUSY = 50  # percent of utilisation from which the driver keeps the link at full speed (NVML: idle links go down)


@rule(
    "HST011",
    "pcie-link-degraded",
    severity=Severity.WARNING,
    fix=(
        Fix(
            "reseat the card and its riser, check the slot's lanes and the firmware's bifurcation and speed settings",
            commands=(
                "nvidia-smi --query-gpu=index,pcie.link.gen.current,pcie.link.gen.max,pcie.link.width.current,"
                "pcie.link.width.max --format=csv",
            ),
        ),
    ),
)
def pcie_link_degraded(gpus: Gpus | None, pcie: PcieTree | None, logs: Logs | None) -> Iterator[Found | RuledOut]:
    """A GPU's PCIe link is narrower, or under load slower, than both ends can."""
    idle = None
    known = gpus.gpus if gpus else ()
    # Two cards that share a slot's lanes (x8 and x8) are alike; a bad contact hits one.
    alike = len({g.index for g in known}) > 1 and len({g.link_width for g in known}) == 1
    for gpu in known:
        lanes = _lanes(pcie, gpu)
        narrow = gpu.link_width and gpu.link_width_max and gpu.link_width < min(gpu.link_width_max, lanes)
        slow = gpu.link_gen and gpu.link_gen_max and gpu.link_gen < gpu.link_gen_max
        if narrow or (slow and (gpu.utilization or 0) >= BUSY):
            so = (
                f"x{gpu.link_width} of x{gpu.link_width_max}" if narrow else f"gen {gpu.link_gen} of {gpu.link_gen_max}"
            )
            yield Found(
                subject=f"GPU {gpu.index} ({gpu.bus_id or gpu.name})",
                message=f"the PCIe link of GPU {gpu.index} runs at {so}" + ("" if narrow else " under load"),
                evidence=gpu.said("link_width" if narrow else "link_gen"),
                confidence=Confidence.POSSIBLE if narrow and alike else Confidence.LIKELY,
            )
        elif slow:
            idle = gpu
    if idle:
        yield RuledOut("a slow link was seen only at idle, where it saves power", idle.said("link_gen"))
    for device in pcie.gpus if pcie and not known else ():
        above = pcie.above(device) if pcie else ()
        can = min((w for w in (device.width_max, *(b.width_max for b in above[-1:])) if w), default=0)
        if device.width and device.width < can:
            yield Found(
                subject=f"GPU {device.address}",
                message=f"the PCIe link of {device.address or 'the GPU'} runs at x{device.width} of x{can}",
                evidence=(device.link_quote or device.quote,),
                confidence=Confidence.LIKELY if above else Confidence.POSSIBLE,
            )
    if logs and not known:
        yield from _stated(logs)
    if logs and not known and not (pcie and any(d.address for d in pcie.devices)):
        # An excerpt that names no device: nobody pastes the link of another one into a report on GPUs.
        for hit in logs.find(kernel.LINK_STATE):
            if hit.groups.get("state") == "downgraded":
                yield Found(
                    subject="PCIe link",
                    message=f"a PCIe link runs at x{hit.groups['width']}, fewer lanes than the device has",
                    evidence=(hit.quote,),
                    confidence=Confidence.POSSIBLE,
                )
                return


def _lanes(pcie: PcieTree | None, gpu: Gpu) -> int:
    """Return the lanes of the port above `gpu`, or as many as PCIe knows when lspci did not show it."""
    for device in pcie.gpus if pcie else ():
        if device.address and gpu.bus_id.endswith(device.address):
            return (
                next((b.width_max for b in pcie.above(device)[-1:] if b.width_max), MOST_LANES) if pcie else MOST_LANES
            )
    return MOST_LANES


def _stated(logs: Logs) -> Iterator[Found]:
    """Read the link's properties where they are given one a line, with no GPU named."""
    for hit in logs.find(gpu_device.DCGM_LINK):
        g = hit.groups
        yield Found(
            subject=f"GPU {g['gpu']}",
            message=f"DCGM measured the PCIe link {g['what']} of GPU {g['gpu']} at {g['now']}, below {g['least']}",
            evidence=(hit.quote,),
            confidence=Confidence.LIKELY,
        )
        return
    most = {h.groups["what"]: int(h.groups["most"]) for h in logs.find(launch.STATED_LINK_MAX)}
    busy = logs.find(launch.STATED_BUSY)
    for hit in logs.find(launch.STATED_LINK):
        what, now = hit.groups["what"], int(hit.groups["now"])
        if now < most.get(what, now) and (what == "width" or busy):
            yield Found(
                subject="PCIe link",
                message=f"a GPU's PCIe link {what} is {now} of {most[what]}" + (" under load" if busy else ""),
                evidence=(hit.quote, *quotes(busy, 1)),
                confidence=Confidence.LIKELY if busy else Confidence.POSSIBLE,
            )
            return
