"""HST006: a unit or container starts before the GPU devices or their CDI description exist."""

from collections.abc import Iterator

from qops.data.messages import cuda, device, engine, system
from qops.evidence.container import Containers
from qops.evidence.message import Hit, Logs, quotes
from qops.rule import Confidence, Fix, Found, rule

BY_ITSELF = ("always", "unless-stopped")  # restart policies that start a container at boot


@rule(
    "HST006",
    "systemd-boot-order-race",
    explains=("no-visible-gpu", "nvml-failed", "cuda-error"),
    fix=(
        Fix(
            "order the unit after the one that makes the devices (nvidia-persistenced, nvidia-cdi-refresh); not after"
            " the latter where that comes after multi-user.target, as in container toolkit 1.19.0",
            commands=(
                "systemctl list-dependencies --after docker.service",
                "systemd-analyze critical-chain docker.service",
            ),
        ),
        Fix("start the container again once the devices are there", kind="workaround"),
    ),
)
def systemd_boot_order_race(logs: Logs, containers: Containers | None) -> Iterator[Found]:
    """A unit or container starts before the GPU devices or their CDI description exist."""
    cdi, nodes = logs.find(system.CDI_UNRESOLVED), logs.find(system.DEVICE_NODE_MISSING)
    driver = tuple(h for h in cdi if "could not select" in h.quote.text)
    boot = quotes(logs.find(system.BOOT), 1)
    policy = quotes(logs.find(system.RESTART_POLICY), 1) or tuple(
        c.quote for c in (containers.containers if containers else ()) if c.restart in BY_ITSELF
    )
    if not cdi and not nodes:
        if boot and (pair := _before_the_driver(logs)):
            yield Found(
                subject="unit",
                message="a service looked for GPUs at boot before the driver was loaded, and found none",
                evidence=(*quotes(pair), *boot),
            )
        return
    if boot or nodes or (driver and policy):
        confidence = (
            Confidence.CERTAIN if (boot or policy) and (cdi or nodes) and (nodes or driver) else Confidence.LIKELY
        )
    elif driver:
        confidence = Confidence.POSSIBLE
    else:
        return
    yield Found(
        subject="container engine" if cdi else "unit",
        message=("the GPU devices are not described yet" if cdi else "a GPU device node is not there yet")
        + " when the container starts"
        + (" by its restart policy" if policy else " at boot" if boot else ""),
        evidence=(*quotes(cdi, 2), *quotes(nodes, 2), *policy[:1], *boot),
        confidence=confidence,
    )


def _before_the_driver(logs: Logs) -> tuple[Hit, ...]:
    """Return where a program found no GPU, and where the driver was loaded later, in one journal."""
    for early in logs.find(engine.NO_GPU_FOUND, cuda.DEVICE_NOT_INFERRED, cuda.NO_VISIBLE_GPU):
        for late in logs.find(device.DRIVER_LOADS):
            if early.quote.source == late.quote.source and early.quote.line < late.quote.line:
                return (early, late)
    return ()
