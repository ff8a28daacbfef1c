"""HST024: the driver asks for a reset of a GPU, or for a reboot, before it can be used again."""

from collections.abc import Iterator

from qops.data.messages import device
from qops.evidence.gpu import Gpus
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Fix, Found, RuledOut, rule

# nvml.h nvmlDeviceGpuRecoveryAction_t, as nvidia-smi -q prints it (570 and later); others ask for nothing.
ASKED = ("reset", "reboot", "drain")


@rule(
    "HST024",
    "gpu-needs-reset",
    explains=("cuda-error", "nvml-failed", "no-visible-gpu", "xid-event", "engine-core-failed", "program-failed"),
    fix=(
        Fix(
            "end every process that holds the GPU, then do what the driver asks for: a reset, or a reboot of the host",
            commands=("nvidia-smi -q | grep -iE '^GPU|Recovery Action'", "sudo fuser -v /dev/nvidia*"),
            risk="every job on that GPU ends; GPUs that NVLink joins are reset together",
        ),
    ),
)
def gpu_needs_reset(logs: Logs, gpus: Gpus | None) -> Iterator[Found | RuledOut]:
    """The driver asks for a reset of a GPU, or for a reboot, before it can be used again."""
    asking = [g for g in (gpus.gpus if gpus else ()) if g.recovery_action.lower().startswith(ASKED)]
    changed = logs.find(device.RECOVERY_ASKED)
    if asking:
        others = f", and {len(asking) - 1} more" if len(asking) > 1 else ""
        yield Found(
            subject=f"GPU {asking[0].index}{f' ({asking[0].bus_id})' if asking[0].bus_id else ''}",
            message=f"the driver's recovery action for it is {asking[0].recovery_action}{others}",
            evidence=(*(q for g in asking[:3] for q in g.said("recovery_action")), *quotes(changed, 1)),
            confidence=Confidence.CERTAIN,
        )
    elif changed:
        if gpus and any(g.recovery_action.lower() == "none" for g in gpus.gpus):
            yield RuledOut("the driver's recovery action is None again", quotes(changed, 1))
            return
        last = changed[-1]
        yield Found(
            subject=f"GPU {last.groups['bus']}" if "bus" in last.groups else "GPU",
            message=f"the driver's recovery action became {last.groups['action']}",
            evidence=quotes(changed, 2),
            confidence=Confidence.LIKELY,  # what was done about it since, the line does not say
        )
