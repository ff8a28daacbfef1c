"""Scripts that ask an engine, ss or the kernel once for several things: each must still get its answer."""

from pathlib import Path

import pytest
from judging import text
from made_programs import answer

from qops.probes import container_gpus, containers, images, listeners, process_script
from qops.probes.images import parse as parse_images
from qops.probes.listeners import parse as parse_listeners

# Newest first, as docker lists them.
PS = """case "$1" in
  ps) for n in 1 2 3 4 5 6 7 8 9 10 11; do echo "e$n Exited (0) 2 hours ago"; done
      echo 'r1 Up 3 hours'; echo 'r2 Restarting (1) 5 seconds ago'; echo 'c1 Created'; echo 'p1 Up 2 days (Paused)' ;;
  inspect) shift; echo "asked: $*" ;;
esac"""


def test_containers_that_run_and_the_last_ten_are_inspected(tmp_path: Path) -> None:
    said = answer(containers.SCRIPT, tmp_path, docker=PS)
    assert said == "asked: e1 e2 e3 e4 e5 e6 e7 e8 e9 e10 r1 r2 p1\n"


def test_no_container_and_an_engine_that_is_silent_give_nothing(tmp_path: Path) -> None:
    assert answer(containers.SCRIPT, tmp_path, docker="echo 'Cannot connect' >&2; exit 1") == ""


SS = """cat <<'END'
udp UNCONN 0 0 0.0.0.0:68 0.0.0.0:* users:(("dhclient",pid=5,fd=6))
udp ESTAB 0 0 10.0.0.5:68 10.0.0.1:67 users:(("networkd",pid=5,fd=6))
tcp LISTEN 0 128 0.0.0.0:22 0.0.0.0:* users:(("systemd",pid=1,fd=3))
tcp LISTEN 0 128 0.0.0.0:8000 0.0.0.0:* users:(("vllm",pid=9,fd=3))
tcp ESTAB 0 0 10.0.0.5:22 10.0.0.9:50000 users:(("sshd-session",pid=7,fd=4))
tcp ESTAB 0 0 10.0.0.5:8000 10.0.0.9:50001 users:(("vllm",pid=9,fd=9))
tcp TIME-WAIT 0 0 10.0.0.5:8000 10.0.0.9:50002
END"""


def test_listeners_and_sessions_of_ssh_come_from_one_table(tmp_path: Path) -> None:
    found = parse_listeners([text(answer(listeners.SCRIPT, tmp_path, ss=SS), "ss")])
    assert found is not None
    assert [(one.protocol, one.port, one.process) for one in found.listeners] == [
        ("udp", 68, "dhclient"), ("tcp", 22, "systemd"), ("tcp", 8000, "vllm"),
    ]  # fmt: skip
    assert found.ssh == (22,)


DOCKER = """case "$*" in
  'image ls'*) {listed} ;;
  *inspect*) echo 'image docker {{"id":"sha256:1"}}' ;;
  --version) echo '{version}' ;;
esac"""


@pytest.mark.parametrize(
    ("listed", "engine", "error", "ids"),
    [
        ("true", "docker", "", []),
        ("echo sha256:1", "docker", "", ["sha256:1"]),
        ("echo 'WARNING: no swap limit' >&2; echo sha256:1; echo sha256:1", "docker", "", ["sha256:1"]),
        ("echo 'permission denied'; echo more; exit 1", "", "docker: permission denied", []),
    ],
)
def test_images_are_listed_where_there_are_some(
    tmp_path: Path, listed: str, engine: str, error: str, ids: list[str]
) -> None:
    said = answer(images.SCRIPT, tmp_path, docker=DOCKER.format(listed=listed, version="Docker version 29"))
    found = parse_images([text(said, "images")])
    assert found is not None
    assert (found.engine, found.error, [one.id for one in found.images]) == (engine, error, ids)


def test_podman_under_dockers_name_is_not_asked_as_docker(tmp_path: Path) -> None:
    said = answer(images.SCRIPT, tmp_path, docker=DOCKER.format(listed="echo sha256:1", version="podman version 5"))
    assert "engine docker" not in said and "silent docker" not in said


def test_without_an_nvidia_device_no_container_is_asked(tmp_path: Path) -> None:
    """A host that has one, and a practice host, whose GPUs stand below QOPS_ROOT, are asked."""
    no, some = "no_gpu() { true; }\n", "no_gpu() { false; }\n"
    script = container_gpus.SCRIPT.removeprefix(process_script.NO_GPU)
    for name, before in (("no", no), ("some", some), ("lab", f"QOPS_ROOT=/lab\n{no}")):
        (tmp_path / name).mkdir()
        asked = tmp_path / f"{name}-ps"
        answer(before + script, tmp_path / name, docker=f"true >{asked}")
        assert asked.exists() is (name != "no")
