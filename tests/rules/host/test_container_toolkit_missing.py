from judging import causes, outcomes, text

from qops.engine import observe
from qops.evidence.container_engine import ContainerEngine, DockerInfo
from qops.evidence.text import Quote
from qops.rule import Confidence, Found, RuledOut
from qops.rules.host.container_toolkit_missing import container_toolkit_missing


def test_docker() -> None:
    files = {
        "docker.txt": (
            'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].\n'
        ),
    }
    found = next(f for f in outcomes(container_toolkit_missing, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "container-toolkit-missing"


def test_unknown_runtime() -> None:
    files = {
        "docker.txt": "docker: Error response from daemon: unknown or invalid runtime name: nvidia.\n",
    }
    found = next(f for f in outcomes(container_toolkit_missing, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "container-toolkit-missing"


def test_podman_without_a_specification() -> None:
    files = {
        "podman.txt": "Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=all\n",
    }
    found = next(f for f in outcomes(container_toolkit_missing, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.LIKELY
    assert found.evidence
    assert causes(files)[0] == "container-toolkit-missing"


def test_look_alike_another_driver() -> None:
    assert "container-toolkit-missing" not in causes(
        {
            "docker.txt": 'could not select device driver "local" with capabilities: [[volume]]\n',
        }
    )


def test_ruled_out_when_started_at_boot() -> None:
    files = {
        "docker.txt": ('could not select device driver "cdi" with capabilities: [[]]\nrestart: always\n'),
    }
    assert any(isinstance(o, RuledOut) for o in outcomes(container_toolkit_missing, files) or ())
    assert "container-toolkit-missing" not in causes(files)


def test_a_container_that_still_has_the_error_of_its_last_start_says_nothing_of_today() -> None:
    refused = 'docker: could not select device driver "" with capabilities: [[gpu]].'
    evidence = observe([text(refused, "docker.txt")])

    def of(*runtimes: str) -> list[type]:
        info = DockerInfo("29.1.3", ("runc", *runtimes), quote=Quote("docker info", 1, "Runtimes"))
        engine = ContainerEngine(docker="/usr/bin/docker", active="active", info=info)
        return [type(one) for one in container_toolkit_missing.judge({**evidence, ContainerEngine: engine})]

    assert of() == [Found]
    assert of("nvidia") == [RuledOut]


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(container_toolkit_missing, {})
