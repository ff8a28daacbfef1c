"""HST001: docker has no NVIDIA runtime and no CDI device."""

from collections.abc import Iterator

from qops.data.messages import cluster, kernel, system
from qops.evidence.container_engine import ContainerEngine
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Fix, Found, RuledOut, rule


@rule(
    "HST001",
    "container-toolkit-missing",
    explains=("no-visible-gpu", "cuda-error", "nvml-failed"),
    fix=(
        Fix(
            "install the NVIDIA container toolkit, let it configure the container engine, restart the engine",
            commands=("nvidia-ctk --version", "docker info --format '{{json .Runtimes}}'"),
            risk="a restart of docker stops containers unless live-restore is on",
            variable="container_toolkit_version",
            tag="container_toolkit",
        ),
    ),
)
def container_toolkit_missing(logs: Logs, engine: ContainerEngine | None) -> Iterator[Found | RuledOut]:
    """The container engine has no NVIDIA runtime and no CDI device."""
    plain, cdi = logs.find(system.NO_GPU_RUNTIME), logs.find(system.CDI_UNRESOLVED)
    plugin = logs.find(cluster.PLUGIN_WITHOUT_NVML)
    if plain and engine is not None and "nvidia" in engine.info.runtimes:
        # A container keeps the error of its last start until it is started again.
        seen = (engine.info.quote,) if engine.info.quote else ()
        yield RuledOut("docker knows the runtime nvidia by now: start the container again", (*quotes(plain, 1), *seen))
    elif plain:
        yield Found(
            subject="container engine",
            message="the container engine knows no NVIDIA runtime: the container toolkit is absent or not configured",
            evidence=quotes(plain, 3),
            confidence=Confidence.CERTAIN,
        )
    elif cdi:
        early = logs.find(system.BOOT, system.DEVICE_NODE_MISSING)
        restarted = logs.find(system.RESTART_POLICY) and '"cdi' in cdi[0].quote.text.replace("\\", "")
        if early or restarted:
            yield RuledOut(
                "the container was started at boot, before its devices were described",
                quotes(early or logs.find(system.RESTART_POLICY), 1),
            )
        else:
            yield Found(
                subject="container engine",
                message="no CDI specification describes the GPUs that the container asks for",
                evidence=quotes(cdi, 3),
            )
    elif plugin:
        absent = logs.find(system.DRIVER_UNREACHABLE, kernel.MODULE_NOT_FOUND)
        if absent:
            yield RuledOut("the host's driver does not answer, so no container finds NVML", quotes(absent, 1))
        else:
            yield Found(
                subject="container engine",
                message="the device plugin was started without NVML: its container did not get the NVIDIA runtime",
                evidence=quotes(plugin, 2),
            )
