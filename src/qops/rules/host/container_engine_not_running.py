"""HST121: docker, which serving needs, does not run."""

from collections.abc import Iterator

from qops.evidence.container_engine import ContainerEngine
from qops.evidence.intent import Intent
from qops.rule import Confidence, Fix, Found, rule

ROLE = "container_engine"


@rule(
    "HST121",
    "container-engine-not-running",
    explains=("container-gpus-unavailable",),
    fix=(
        Fix(
            "see why, and start it",
            commands=("journalctl -u docker -n 30 --no-pager", "sudo systemctl start docker"),
            variable="container_engine_kind",
            tag=ROLE,
        ),
    ),
)
def container_engine_not_running(engine: ContainerEngine, intent: Intent | None) -> Iterator[Found]:
    """Docker, which qops set up on this host, does not run, or podman is gone."""
    if intent is None or ROLE not in intent.roles or engine.quote is None:
        return  # nobody said that this host is to run containers
    if engine.active == "active" or (engine.podman and not engine.docker):
        return
    state = f"docker.service is {engine.active or 'unknown'}" if engine.docker else "neither docker nor podman is here"
    yield Found(
        subject="container engine",
        message=f"{state}, and qops set this host up to run containers",
        evidence=(engine.info.quote or engine.quote,),
        confidence=Confidence.CERTAIN,
    )
