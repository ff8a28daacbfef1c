"""A host with two GPUs and docker, as the plan of inference_service sees it, and one of its services."""

from typing import Any

from qops.derive import service_unit
from qops.evidence.cdi import Cdi, CdiSpec
from qops.evidence.container import Container, Containers
from qops.evidence.container_engine import ContainerEngine, DockerInfo
from qops.evidence.firewall import Listener, Listeners
from qops.evidence.gpu import Gpu, Gpus
from qops.evidence.inference import InferenceService, InferenceServices
from qops.evidence.services import Services
from qops.evidence.text import Quote

QUOTE = Quote("inference services", 2, "service: tiny")
TINY = {"name": "tiny", "command": "/opt/vllm/bin/vllm serve /models/tiny --served-model-name tiny", "port": 8010}


def host(
    *services: InferenceService, cdi: bool = True, gpus: int = 2, by_gpus: bool = False, **more: Any
) -> dict[type, Any]:
    """Return the evidence. `by_gpus`: a container runs that got its GPUs by --gpus."""
    spec = CdiSpec("/var/run/cdi/nvidia.yaml", QUOTE, "nvidia.com/gpu", devices=("0", "1", "all"))
    info = DockerInfo(
        version="28.1", runtimes=("nvidia", "runc"), cdi_folders=("/etc/cdi",) if cdi else (), cgroup_driver="systemd"
    )
    held = Container("job", QUOTE, running=True, gpus_by="gpus")
    listening = tuple(Listener("tcp", "127.0.0.1", port, QUOTE, who) for port, who in more.get("ports", {}).items())
    return {
        InferenceServices: InferenceServices({one.name: one for one in services}, QUOTE),
        ContainerEngine: ContainerEngine(docker="/usr/bin/docker", active="active", info=info),
        Containers: Containers((held,) if by_gpus else ()),
        Cdi: Cdi("1.18", (spec,) if cdi else ()),
        Gpus: Gpus(tuple(Gpu(i, QUOTE, uuid=f"GPU-{i}") for i in range(gpus))),
        Listeners: Listeners(listening),
        Services: Services({}, QUOTE, raises_limits=more.get("raises", True)),
    }


def running(files: dict[str, str], **more: Any) -> InferenceService:
    """Return the service tiny, up and started with `files` (path to sha256)."""
    said = {
        "loaded": True,
        "active": "active",
        "sub": "running",
        "ready": True,
        "watched": True,
        "on_disk": files,
        "started": files,
        **more,
    }
    return InferenceService("tiny", QUOTE, **said)


PATHS = (service_unit.unit_path("tiny"), service_unit.environment_path("tiny"))
