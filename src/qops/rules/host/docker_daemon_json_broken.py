"""HST120: docker cannot start with its daemon.json."""

from collections.abc import Iterator

from qops.derive import daemon_json
from qops.evidence.container_engine import ContainerEngine
from qops.rule import Confidence, Fix, Found, Role, Severity, rule


@rule(
    "HST120",
    "docker-daemon-json-broken",
    explains=("container-engine-not-running", "container-gpus-unavailable"),
    fix=(
        Fix(
            "mend the line that is named, then start docker",
            commands=("dockerd --validate --config-file /etc/docker/daemon.json", "sudo systemctl restart docker"),
            risk="a restart of docker stops containers unless live-restore is on",
            variable="container_engine_daemon",
            tag="container_engine",
        ),
    ),
)
def docker_daemon_json_broken(engine: ContainerEngine) -> Iterator[Found]:
    """Docker cannot start with its daemon.json: it is no JSON, or says what a flag says too."""
    if not engine.docker:
        return
    # A daemon that runs goes on with what it read; the next start is what fails.
    runs = engine.active == "active"
    for what, quote in daemon_json.stops(engine):
        yield Found(
            subject="docker",
            message=f"{what}: docker does not start with that" + (" again" if runs else ""),
            evidence=(quote,),
            confidence=Confidence.CERTAIN,
            severity=Severity.WARNING if runs else None,
            role=Role.CONTRIBUTING if runs else None,
        )
