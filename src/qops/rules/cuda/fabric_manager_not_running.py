"""CUD006: an NVSwitch machine without a running fabric manager."""

from collections.abc import Iterator

from qops.data.messages import system
from qops.derive.fabric import in_progress, manager_down, missing_gpu, not_ready, stuck
from qops.evidence.driver_setup import DriverSetup
from qops.evidence.gpu import Gpus
from qops.evidence.message import Logs, quotes
from qops.evidence.pcie import PcieTree
from qops.evidence.process import CudaResults
from qops.pattern import lazy
from qops.rule import Confidence, Fix, Found, RuledOut, rule

# Names of boards that are never on an NVSwitch baseboard.
CARD = lazy(r"PCIe|\bNVL\b|GeForce|\bRTX\b|Quadro|TITAN|\b(?:L4|L40S?|T4|A2|A10G?|A16|A30|A40|GB10)\b")


@rule(
    "CUD006",
    "fabric-manager-not-running",
    explains=("cuda-error", "no-visible-gpu", "fabric-state-in-progress"),
    fix=(
        Fix(
            "install the fabric manager of exactly the driver's version, enable it and start it",
            commands=(
                "systemctl status --no-pager nvidia-fabricmanager",
                "cat /proc/driver/nvidia/version",
                "ansible-playbook site.yml --tags nvidia_driver --limit HOST",
            ),
            variable="nvidia_driver_manage",
            tag="nvidia_driver",
        ),
    ),
)
def fabric_manager_not_running(
    logs: Logs,
    results: CudaResults | None,
    gpus: Gpus | None,
    setup: DriverSetup | None,
    tree: PcieTree | None,
) -> Iterator[Found | RuledOut]:
    """An NVSwitch machine has no running fabric manager of the driver's version."""
    refused, down = not_ready(logs, results), manager_down(logs, gpus, setup, tree)
    version = logs.first(system.FABRIC_MANAGER_VERSION)
    complete = quotes(logs.find(system.FABRIC_COMPLETED), 1) or tuple(
        g.said("fabric_state")[0]
        for g in (gpus.gpus if gpus else ())
        if g.fabric_state == "Completed" and not stuck(gpus)
    )
    absent = quotes(logs.find(system.NO_SWITCH), 1)
    if down and complete and not refused and not version:
        yield RuledOut("the fabric is complete, so this machine needs no fabric manager of its own", complete[:1])
    elif down and not refused and not version and (absent or _no_switches(gpus)):
        because = "the fabric manager finds no NVSwitch" if absent else "these GPUs are not on an NVSwitch baseboard"
        yield RuledOut(f"{because}: such a machine needs no manager", absent or down[:1])
    elif down:
        yield Found(
            subject="host",
            message=f"the fabric manager {version.groups['manager']} does not fit the driver {version.groups['driver']}"
            if version
            else "the fabric manager does not run" + (", and CUDA answers 802" if refused else ""),
            evidence=(*down[:3], *refused[:2]),
            confidence=Confidence.CERTAIN,
        )
    elif refused:
        count, short = missing_gpu(logs, gpus)
        if _no_switches(gpus):
            yield RuledOut("these GPUs are not on an NVSwitch baseboard: 802 has another reason here", refused[:1])
            return
        waiting, up = in_progress(logs, gpus), quotes(logs.find(system.FABRIC_MANAGER_UP), 1)
        if waiting or short or up:
            because = (
                "the fabric manager runs"
                if up
                else f"only {count} GPUs are attached"
                if short
                else "the fabric is in progress"
            )
            yield RuledOut(f"{because}: the fabric itself does not complete", (*waiting[:1], *short, *up))
        else:
            yield Found(
                subject="host",
                message="CUDA answers 802 (system not yet initialized): the NVSwitch fabric was not set up",
                evidence=refused,
            )


def _no_switches(gpus: Gpus | None) -> bool:
    names = [g.name for g in gpus.gpus] if gpus else []
    return bool(names) and all(CARD.search(name) for name in names)
