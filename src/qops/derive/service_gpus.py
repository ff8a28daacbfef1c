"""How the container of an inference service gets its GPUs."""

from qops.derive.service import Service
from qops.evidence.cdi import Cdi
from qops.evidence.container_engine import ContainerEngine


def gpus_by(service: Service, engine: ContainerEngine | None, cdi: Cdi | None) -> tuple[str, str]:
    """Return how the service's container gets its GPUs ("cdi", "gpus", "" for none), and why it cannot have them."""
    if service.runtime == "venv":
        return "", ""
    if engine is None:
        return "", "the container engine was not seen"
    if service.runtime == "docker" and engine.active != "active":
        return "", "docker does not run: ansible-playbook site.yml --tags container_engine"
    if service.runtime == "podman" and not engine.podman:
        return "", "podman is not there: container_engine_kind: podman"
    if not service.gpus:
        return "", ""
    described = cdi is not None and cdi.effective() is not None
    if described and (service.runtime == "podman" or engine.info.cdi_folders):
        return "cdi", ""
    if service.runtime == "docker" and "nvidia" in engine.info.runtimes:
        return "gpus", ""
    why = "no specification for CDI describes the GPUs" if not described else "docker has CDI switched off"
    return "", f"{why}, and there is no nvidia runtime: ansible-playbook site.yml --tags container_toolkit"
