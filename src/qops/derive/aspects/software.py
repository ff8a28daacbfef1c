"""The aspects of a host's software: packages, libraries, engines with their options, images, services."""

import re
from collections.abc import Callable
from typing import Any

from qops.derive.aspects.aspect import Aspect, Evidence, Matter, Values
from qops.evidence.container import Containers
from qops.evidence.container_engine import ContainerEngine
from qops.evidence.engine import EngineLogs
from qops.evidence.image import Images
from qops.evidence.inference import InferenceServices
from qops.evidence.nccl import NcclLog
from qops.evidence.packages import Packages
from qops.evidence.process import CudaLibraries, Environment, Processes

# Of a host's packages these: the driver, CUDA, NCCL, and what gives GPUs to containers.
_PACKAGES = re.compile(
    r"(?:lib)?nvidia-.*|cuda-.*|libnccl.*|libcud.*|nvidia|kmod-nvidia.*|docker(?:-ce|\.io).*|containerd.*|podman|runc|"
    r"linux-image-.*|linux-headers-.*|kernel(?:-core)?|mlnx.*|doca.*|rdma-core"
)
_VARIABLES = re.compile(
    r"(?:NCCL|CUDA|NVIDIA|VLLM|SGLANG|SGL|TORCH|PYTORCH|GLOO|OMP|HF|UCX)_.*|LD_LIBRARY_PATH|LD_PRELOAD"
)
# They are each process's own, and differ by nature.
_OWN = re.compile(r"CUDA_VISIBLE_DEVICES|.*_RANK|.*_PORT|.*_SOCKET|TORCHELASTIC_.*|.*_RUN_ID|.*_TMP.*")
_ENGINE = re.compile(r"\b(?:vllm(?:\.entrypoints\S*)? |vllm serve|sglang\.launch_server|sglang serve)")


def _packages(seen: Evidence) -> Values | None:
    packages: Packages | None = seen.get(Packages)
    if packages is None:
        return None
    return {n: p.version for n, p in packages.packages.items() if p.version and _PACKAGES.fullmatch(n)}


def _libraries(seen: Evidence) -> Values | None:
    libraries: CudaLibraries | None = seen.get(CudaLibraries)
    if libraries is None:
        return None
    kinds: dict[str, set[str]] = {}
    for one in libraries.libraries:
        if one.version and not one.stub:
            kind = "compat libcuda" if one.compat else one.path.rpartition("/")[2].partition(".so")[0]
            kinds.setdefault(kind, set()).add(one.version)
    found = {kind: ", ".join(sorted(versions)) for kind, versions in kinds.items()}
    return found | ({"found first": libraries.picked[0]} if libraries.picked else {})


def _nccl(seen: Evidence) -> Values | None:
    log: NcclLog | None = seen.get(NcclLog)
    return {"": ", ".join(sorted(log.versions))} if log and log.versions else None


def _engines(seen: Evidence) -> Values | None:
    logs: EngineLogs | None = seen.get(EngineLogs)
    found = {log.engine: log.version for log in logs.logs if log.version} if logs else {}
    return found or None


def _arguments(seen: Evidence) -> Values | None:
    """Options of the engines: from their own logs, and from the commands of their processes."""
    found: dict[str, str] = {}
    logs: EngineLogs | None = seen.get(EngineLogs)
    for log in logs.logs if logs else ():
        found.update({f"{log.engine} {name}": value for name, value in log.arguments})
    processes: Processes | None = seen.get(Processes)
    for command in dict.fromkeys(p.command for p in processes.samples) if processes else ():
        if _ENGINE.search(command):
            found.update(_words(command))
    return found or None


def _words(command: str) -> dict[str, str]:
    engine = "sglang" if "sglang" in command else "vllm"
    found: dict[str, str] = {}
    name = ""
    for word in command.split():
        if word.startswith("--"):
            name, sign, value = word.partition("=")
            found[f"{engine} {name}"] = value if sign else "set"
        elif name:
            known = found[f"{engine} {name}"]
            found[f"{engine} {name}"] = word if known == "set" else f"{known} {word}"
    return found


def _environment(seen: Evidence) -> Values | None:
    environment: Environment | None = seen.get(Environment)
    if environment is None:
        return None
    found: dict[str, set[str]] = {}
    for variable in environment.variables:
        if _VARIABLES.fullmatch(variable.name) and not _OWN.fullmatch(variable.name):
            found.setdefault(variable.name, set()).add(variable.value)
    return {name: " | ".join(sorted(values)) for name, values in sorted(found.items())}


def _containers(read: Callable[[Any], str]) -> Callable[[Evidence], Values | None]:
    def values(seen: Evidence) -> Values | None:
        containers: Containers | None = seen.get(Containers)
        if containers is None:
            return None
        told = {one.name: read(one) for one in containers.containers if one.running is not False}
        return {name: value for name, value in told.items() if value}

    return values


def _images(seen: Evidence) -> Values | None:
    images: Images | None = seen.get(Images)
    if images is None:
        return None
    return {
        tag: one.digests[0].rpartition("@")[2] if one.digests else one.id for one in images.images for tag in one.tags
    }


def _services(seen: Evidence) -> Values | None:
    services: InferenceServices | None = seen.get(InferenceServices)
    if services is None:
        return None
    found: dict[str, str] = {}
    for name, one in services.services.items():
        found[name] = "up" if one.up else one.active or "not there"
        found.update({f"{name}: {path}": digest[:12] for path, digest in one.on_disk.items()})
    return found


def _docker(seen: Evidence) -> Values | None:
    engine: ContainerEngine | None = seen.get(ContainerEngine)
    if engine is None:
        return None
    told = {"docker": engine.info.version, "podman": engine.podman, "runtimes": ", ".join(sorted(engine.info.runtimes))}
    lines = engine.daemon_json.lines if engine.daemon_json else ()
    return {name: value for name, value in told.items() if value} | ({"daemon.json": " ".join(lines)} if lines else {})


SOFTWARE: tuple[Aspect, ...] = (
    Aspect("package", Matter.BREAKS, "an update brought it, or took it away", _packages),
    Aspect("CUDA library", Matter.BREAKS, "programs load the first that is found", _libraries),
    Aspect("NCCL", Matter.BREAKS, "ranks have to agree on it", _nccl),
    Aspect("engine", Matter.BREAKS, "another release takes other flags", _engines),
    Aspect("engine option", Matter.BREAKS, "it is what the engine was told", _arguments),
    Aspect("variable", Matter.BREAKS, "NCCL, CUDA and the engines read it", _environment),
    Aspect("image of container", Matter.BREAKS, "other software runs in it", _containers(lambda c: c.image)),
    Aspect(
        "command of container",
        Matter.BREAKS,
        "it is what the engine was told",
        _containers(lambda c: " ".join(c.command)),
    ),
    Aspect("image", Matter.BREAKS, "a tag can become another image", _images),
    Aspect("service", Matter.BREAKS, "its files decide what is started", _services),
    Aspect("container engine", Matter.BREAKS, "it gives containers their GPUs", _docker),
)
