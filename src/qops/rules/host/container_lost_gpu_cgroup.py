"""HST002: a running container lost its GPUs after systemd was reloaded."""

from collections.abc import Iterator

from qops.data.messages import kernel, system
from qops.evidence.container import Containers
from qops.evidence.gpu import Gpus
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Fix, Found, RuledOut, rule


@rule(
    "HST002",
    "container-lost-gpu-cgroup",
    explains=("nvml-failed", "no-visible-gpu", "cuda-error"),
    fix=(
        Fix("start the container again", kind="workaround", risk="ends what runs in it"),
        Fix(
            "give the GPUs as CDI devices, or create the /dev/char links that runc looks for",
            commands=("sudo nvidia-ctk system create-dev-char-symlinks --create-all --dry-run",),
        ),
    ),
)
def container_lost_gpu_cgroup(
    logs: Logs, gpus: Gpus | None, containers: Containers | None
) -> Iterator[Found | RuledOut]:
    """A running container lost its GPUs after systemd was reloaded."""
    hits = logs.find(system.NVML_UNKNOWN)
    if not hits:
        return
    lost = logs.find(kernel.XID_BUS, kernel.FELL_OFF_BUS)
    if lost:
        yield RuledOut("the GPU itself is gone from the bus", quotes(lost, 1))
        return
    reloads = logs.find(system.DAEMON_RELOAD)
    inside = logs.find(system.IN_CONTAINER)
    listed = quotes(logs.find(system.GPU_LISTED), 1) or tuple(g.quote for g in (gpus.gpus if gpus else ())[:1])
    running = tuple(c.quote for c in (containers.containers if containers else ()) if c.running)[:1]
    signs = sum(bool(x) for x in (reloads, inside or running, listed))
    yield Found(
        subject="container",
        message="NVML answers Unknown Error in the container"
        + (", while the host's nvidia-smi lists the GPUs" if listed else "")
        + (", after systemd was reloaded" if reloads else ""),
        evidence=(*quotes(hits, 2), *quotes(reloads, 1), *listed, *(quotes(inside, 1) or running)),
        confidence=(Confidence.POSSIBLE, Confidence.LIKELY, Confidence.CERTAIN, Confidence.CERTAIN)[signs],
    )
