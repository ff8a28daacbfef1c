from judging import text

from qops.engine import observe
from qops.evidence.container_engine import ContainerEngine

UNIT = "/usr/lib/systemd/system/docker.service"
DROP_IN = "/etc/systemd/system/docker.service.d/10-flags.conf"
FLAGS = f"""{UNIT}:13:ExecStart=/usr/bin/dockerd -H fd:// --containerd=/run/containerd/containerd.sock
{DROP_IN}:4:ExecStart=
{DROP_IN}:5:ExecStart=/usr/bin/dockerd --host=fd:// --log-opt max-size=20m \\
{DROP_IN}:6:  --default-ulimit=nofile=1048576:1048576
/etc/default/docker:7:#DOCKER_OPTS="--dns 10.0.0.2"
/etc/default/docker:9:DOCKER_OPTS="--live-restore"
"""
INFO = (
    '{"ID":"1b1c","ContainersRunning":2,"ServerVersion":"29.1.3","CgroupDriver":"systemd","LiveRestoreEnabled":true,'
    '"Runtimes":{"runc":{"path":"runc"},"nvidia":{"path":"nvidia-container-runtime"}},'
    '"CDISpecDirs":["/etc/cdi","/var/run/cdi"]}\n'
)
STATES = "LoadState=loaded\nActiveState=active\nUnitFileState=enabled\n== started 1764000000\n"
HEAD = "== container engine\n"
DOCKER = "== docker /usr/bin/docker\n"
FILE = '== daemon.json 1764000100\n1:{\n2:  "data-root": "/data/docker"\n3:}\n== end\n'


def _seen(content: str) -> ContainerEngine | None:
    found = observe([text(HEAD + content)]).get(ContainerEngine)
    assert found is None or isinstance(found, ContainerEngine)
    return found


def test_all_that_a_host_says() -> None:
    engine = _seen(DOCKER + "== podman version 5.4.2\n" + FILE + STATES + FLAGS + INFO)
    assert engine is not None and engine.daemon_json is not None
    assert (engine.docker, engine.podman, engine.vendor_image) == ("/usr/bin/docker", "5.4.2", False)
    assert engine.daemon_json.lines == ("{", '  "data-root": "/data/docker"', "}")
    assert (engine.unit, engine.active, engine.enabled) == ("loaded", "active", "enabled")
    assert engine.behind
    assert engine.info.runtimes == ("nvidia", "runc")
    assert engine.info.cdi_folders == ("/etc/cdi", "/var/run/cdi")
    assert (engine.info.version, engine.info.running, engine.info.cgroup_driver) == ("29.1.3", 2, "systemd")
    assert engine.info.live_restore


def test_a_drop_in_takes_back_what_the_unit_passes() -> None:
    engine = _seen(DOCKER + STATES + FLAGS)
    assert engine is not None
    told = {flag.name: (flag.quote.source, flag.quote.line) for flag in engine.flags}
    assert told["log-opt"] == (DROP_IN, 5)
    assert told["default-ulimit"] == (DROP_IN, 6)
    assert told["live-restore"] == ("/etc/default/docker", 9)
    assert "containerd" not in told and "H" not in told
    assert "dns" not in told  # a comment


def test_a_host_without_an_engine() -> None:
    engine = _seen("LoadState=not-found\nActiveState=inactive\nUnitFileState=\n")
    assert engine is not None
    assert (engine.docker, engine.podman, engine.daemon_json) == ("", "", None)
    assert not engine.behind


def test_the_vendors_system() -> None:
    engine = _seen("== vendor image\n" + DOCKER)
    assert engine is not None and engine.vendor_image


def test_a_daemon_that_does_not_answer() -> None:
    said = "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?\n"
    engine = _seen(DOCKER + STATES + said)
    assert engine is not None
    assert engine.info.version == ""
    assert engine.info.error.startswith("Cannot connect")


def test_what_stands_in_daemon_json_is_not_taken_for_the_scripts_words() -> None:
    engine = _seen(DOCKER + '== daemon.json 5\n1:{\n2:"x": "== docker /evil", "y":\n3:{"ServerVersion":"9"}}\n' + INFO)
    assert engine is not None
    assert (engine.docker, engine.info.version) == ("/usr/bin/docker", "29.1.3")


def test_an_empty_daemon_json() -> None:
    engine = _seen(DOCKER + "== daemon.json 5\n== end\n" + INFO)
    assert engine is not None and engine.daemon_json is not None
    assert engine.daemon_json.lines == ()


def test_other_text_says_nothing() -> None:
    assert ContainerEngine not in observe([text('{"ServerVersion": "29.1.3"}\n')])
