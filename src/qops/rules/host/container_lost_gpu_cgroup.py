"""HST002: a running container lost its GPUs after systemd was reloaded."""

from collections.abc import Iterator

from qops.data.messages import cluster, kernel, system
from qops.evidence.container import ContainerGpus, Containers, GpusInContainers
from qops.evidence.gpu import Gpus
from qops.evidence.message import Logs, quotes
from qops.evidence.text import Quote
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
    logs: Logs, gpus: Gpus | None, containers: Containers | None, inside_of: GpusInContainers | None
) -> Iterator[Found | RuledOut]:
    """A running container lost its GPUs after systemd was reloaded."""
    hits = logs.find(system.NVML_UNKNOWN)
    views = [v for v in (inside_of.views if inside_of else ()) if v.error == "Unknown Error"]
    if not hits and not views:
        return
    lost = logs.find(kernel.XID_BUS, kernel.FELL_OFF_BUS)
    if lost:
        yield RuledOut("the GPU itself is gone from the bus", quotes(lost, 1))
        return
    outside = tuple(g.quote for g in (gpus.gpus if gpus else ())[:1])
    if views:
        yield from (_seen(view, outside) for view in views)
        return
    reloads = logs.find(system.DAEMON_RELOAD)
    barred = logs.find(cluster.NO_CGROUPS)
    if barred and not reloads:
        yield RuledOut("the toolkit's no-cgroups gives no container a device, from its start on", quotes(barred, 1))
        return
    inside = logs.find(system.IN_CONTAINER)
    listed = quotes(logs.find(system.GPU_LISTED), 1) or outside
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


def _seen(view: ContainerGpus, outside: tuple[Quote, ...]) -> Found:
    """Judge a container that was asked on the host itself, which is more than a pasted line."""
    signs = bool(outside) + bool(view.reloads)
    return Found(
        subject=f"container {view.container}",
        message="NVML answers Unknown Error in the container"
        + (", while the host's nvidia-smi lists the GPUs" if outside else "")
        + (", and systemd was reloaded after the container was started" if view.reloads else ""),
        evidence=(view.quote, *view.reloads[:1], *outside),
        confidence=(Confidence.POSSIBLE, Confidence.LIKELY, Confidence.CERTAIN)[signs],
    )
