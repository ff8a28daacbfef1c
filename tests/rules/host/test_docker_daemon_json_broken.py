from judging import found, judged

from qops.evidence.container_engine import ContainerEngine, DaemonFlag, DaemonJson
from qops.evidence.text import Quote
from qops.rule import Severity
from qops.rules.host.docker_daemon_json_broken import docker_daemon_json_broken

FLAG = DaemonFlag(
    "log-driver",
    Quote("/etc/systemd/system/docker.service.d/own.conf", 3, "ExecStart=/usr/bin/dockerd --log-driver=journald"),
)


def _engine(*lines: str, **more: object) -> ContainerEngine:
    quote = Quote("/etc/docker/daemon.json", 1, lines[0])
    values = {"docker": "/usr/bin/docker", "active": "failed", "daemon_json": DaemonJson(lines, quote), **more}
    return ContainerEngine(**values)  # type: ignore[arg-type]


def test_a_comma_too_many() -> None:
    (one,) = found(docker_daemon_json_broken, _engine("{", '  "debug": true,', "}"))
    assert "/etc/docker/daemon.json:3 is no JSON" in one.message
    assert one.severity is None


def test_a_key_that_a_drop_in_passes_too() -> None:
    (one,) = found(docker_daemon_json_broken, _engine('{"log-driver": "local"}', flags=(FLAG,)))
    assert "own.conf:3 too" in one.message
    assert one.evidence == (FLAG.quote,)


def test_a_docker_that_runs_fails_at_its_next_start_only() -> None:
    (one,) = found(docker_daemon_json_broken, _engine("{,}", active="active"))
    assert one.severity is Severity.WARNING
    assert one.message.endswith("does not start with that again")


def test_a_flag_for_another_key_is_left_alone() -> None:
    assert judged(docker_daemon_json_broken, _engine('{"debug": true}', flags=(FLAG,))) == ()


def test_an_empty_file_and_no_docker_are_left_alone() -> None:
    assert judged(docker_daemon_json_broken, _engine("")) == ()
    assert judged(docker_daemon_json_broken, _engine("{,}", docker="")) == ()


def test_nothing_seen_is_unknown() -> None:
    assert judged(docker_daemon_json_broken) is None
