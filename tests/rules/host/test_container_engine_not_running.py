from judging import found, judged

from qops.evidence.container_engine import ContainerEngine
from qops.evidence.intent import Intent
from qops.evidence.text import Quote
from qops.rules.host.container_engine_not_running import container_engine_not_running

QUOTE = Quote("container engine", 1, "== container engine")
MEANT = Intent(("container_engine",))


def test_a_docker_that_failed() -> None:
    engine = ContainerEngine(docker="/usr/bin/docker", active="failed", quote=QUOTE)
    (one,) = found(container_engine_not_running, engine, MEANT)
    assert "docker.service is failed" in one.message


def test_an_engine_that_is_gone() -> None:
    (one,) = found(container_engine_not_running, ContainerEngine(quote=QUOTE), MEANT)
    assert "neither docker nor podman" in one.message


def test_what_runs_and_what_nobody_meant_is_left_alone() -> None:
    running = ContainerEngine(docker="/usr/bin/docker", active="active", quote=QUOTE)
    stopped = ContainerEngine(docker="/usr/bin/docker", active="inactive", quote=QUOTE)
    assert judged(container_engine_not_running, running, MEANT) == ()
    assert judged(container_engine_not_running, ContainerEngine(podman="5.4.2", quote=QUOTE), MEANT) == ()
    assert judged(container_engine_not_running, stopped) == ()
    assert judged(container_engine_not_running, stopped, Intent(("host_tuning",))) == ()


def test_nothing_seen_is_unknown() -> None:
    assert judged(container_engine_not_running, MEANT) is None
