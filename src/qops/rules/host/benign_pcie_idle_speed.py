"""HST803: an idle GPU's PCIe link runs slow to save power."""

from collections.abc import Iterator

from qops.data.messages import kernel, launch
from qops.evidence.gpu import Gpus
from qops.evidence.message import Logs, quotes
from qops.evidence.pcie import PcieTree
from qops.rule import Confidence, Found, Role, Severity, rule

SLOWEST = "2.5"  # GT/s, PCIe generation 1, to which an idle link is taken down
IDLE = 10  # percent of utilisation below which a link may be slow


@rule("HST803", "benign-pcie-idle-speed", role=Role.INFO, severity=Severity.INFO)
def benign_pcie_idle_speed(gpus: Gpus | None, pcie: PcieTree | None, logs: Logs | None) -> Iterator[Found]:
    """An idle GPU's PCIe link runs slow to save power: no fault, only a reading under load would tell."""
    for gpu in gpus.gpus if gpus else ():
        full = gpu.link_width is None or gpu.link_width == gpu.link_width_max
        if gpu.link_gen and gpu.link_gen_max and gpu.link_gen < gpu.link_gen_max and full:
            if (gpu.utilization or 0) < IDLE:
                yield Found(
                    subject=f"GPU {gpu.index}",
                    message=f"the link of GPU {gpu.index} idles at gen {gpu.link_gen} of {gpu.link_gen_max}",
                    evidence=gpu.said("link_gen"),
                    confidence=Confidence.CERTAIN,
                )
            return
    for device in pcie.gpus if pcie and not gpus else ():
        if device.speed and device.speed_max and device.speed < device.speed_max and device.width == device.width_max:
            yield Found(
                subject=f"GPU {device.address}",
                message=f"the link runs at {device.speed:g} of {device.speed_max:g} GT/s at full width, as at idle",
                evidence=(device.link_quote or device.quote,),
                confidence=Confidence.LIKELY,
            )
            return
    said = logs.find(launch.STATED_LINK) if logs and not gpus else ()
    if logs and any(h.groups["what"] == "gen" and h.groups["now"] == "1" for h in said):
        if not logs.find(launch.STATED_BUSY):
            yield Found("link", "the link idles at gen 1", quotes(said, 2), Confidence.LIKELY)
        return
    shown = logs.find(launch.NVTOP_LINK) if logs else ()
    if shown and any(h.groups["gen"] == "1" for h in shown) and all(h.groups["width"] == "16" for h in shown):
        yield Found(
            subject="link",
            message="the link runs at gen 1 at full width, as at idle",
            evidence=quotes(shown, 1),
            confidence=Confidence.LIKELY,
        )
        return
    states = logs.find(kernel.LINK_STATE) if logs and not gpus and not (pcie and pcie.gpus) else ()
    if states and all(h.groups["speed"] == SLOWEST and h.groups.get("state") != "downgraded" for h in states):
        yield Found(
            subject="link",
            message=f"the link runs at {SLOWEST} GT/s at full width, as at idle",
            evidence=quotes(states, 1),
            confidence=Confidence.LIKELY,
        )
