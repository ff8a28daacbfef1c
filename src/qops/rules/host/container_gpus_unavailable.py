"""HST124: the container engine could not give a container a GPU."""

from collections.abc import Iterator

from qops.evidence.cdi import Cdi
from qops.evidence.container_engine import ContainerEngine
from qops.evidence.gpu import DriverModule
from qops.evidence.intent import Intent
from qops.evidence.text import Quote
from qops.rule import Confidence, Fix, Found, rule

ROLE = "container_toolkit"


@rule(
    "HST124",
    "container-gpus-unavailable",
    explains=("container-toolkit-missing",),
    fix=(
        Fix(
            "install the toolkit, describe the GPUs, and make the runtime known to docker",
            commands=("ansible-playbook site.yml --tags container_toolkit --limit HOST",),
            variable="container_toolkit_runtime",
            tag=ROLE,
        ),
    ),
)
def container_gpus_unavailable(
    cdi: Cdi, engine: ContainerEngine, driver: DriverModule | None, intent: Intent | None
) -> Iterator[Found]:
    """The container engine, which qops set up to give containers GPUs, could not."""
    if intent is None or ROLE not in intent.roles:
        return  # nobody said that containers are to have GPUs here
    missing: list[tuple[str, Quote | None]] = []
    if not cdi.version:
        missing.append(("nvidia-ctk is gone", cdi.quote))
    elif driver is not None and cdi.effective() is None:
        missing.append(("no CDI specification describes nvidia.com/gpu", cdi.quote))
    info = engine.info
    if info.version and "nvidia" not in info.runtimes and not info.cdi_folders:
        missing.append(("docker knows neither a runtime nvidia nor CDI", info.quote))
    if missing:
        yield Found(
            subject="container engine",
            message=" and ".join(what for what, _ in missing) + ", so no container gets a GPU",
            evidence=tuple(quote for _, quote in missing if quote is not None),
            confidence=Confidence.CERTAIN,
        )
