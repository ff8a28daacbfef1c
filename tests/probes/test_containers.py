import contextlib
import json

import pytest
from judging import text

from qops.errors import ParseError
from qops.evidence.container import Container
from qops.evidence.text import Text
from qops.probes.containers import PROBE, parse, recognise

INSPECT = [
    {
        "Id": "3f2a",
        "Name": "/llm",
        "State": {"Running": False, "ExitCode": 137, "OOMKilled": True, "Pid": 0},
        "Config": {"Image": "vllm/vllm-openai:v0.15.0", "Env": ["NCCL_DEBUG=INFO", "EMPTY="], "Cmd": ["--model", "x"]},
        "HostConfig": {
            "ShmSize": 67108864,
            "IpcMode": "private",
            "NetworkMode": "host",
            "Runtime": "runc",
            "RestartPolicy": {"Name": "always"},
            "Ulimits": [{"Name": "memlock", "Hard": -1, "Soft": -1}],
            "CapAdd": ["SYS_NICE"],
            "DeviceRequests": [{"Driver": "", "Count": -1, "Capabilities": [["gpu"]]}],
        },
    }
]


def read(content: str) -> tuple[Container, ...]:
    loose = text(content, "paste.txt")
    assert recognise(loose)
    found = parse([loose])
    assert found is not None
    return found.containers


@pytest.mark.parametrize("value", [INSPECT, INSPECT[0]])
@pytest.mark.parametrize("indent", [4, None])
def test_inspect(value: object, indent: int | None) -> None:
    (one,) = read("some words\n" + json.dumps(value, indent=indent) + "\nmore words\n")
    assert (one.name, one.image, one.running, one.exit_code, one.oom_killed) == (
        "llm",
        "vllm/vllm-openai:v0.15.0",
        False,
        137,
        True,
    )
    assert (one.shm_size, one.ipc_mode, one.network_mode, one.restart) == (64 << 20, "private", "host", "always")
    assert (one.memlock, one.capabilities, one.gpus_requested) == (-1, ("SYS_NICE",), True)
    assert one.environment == (("NCCL_DEBUG", "INFO"), ("EMPTY", ""))
    assert one.quote.line == 2


def test_lines_of_it() -> None:
    (one,) = read('        "ShmSize": 67108864,\n            "IpcMode": "private",\n            "OOMKilled": false,\n')
    assert (one.shm_size, one.ipc_mode, one.oom_killed) == (64 << 20, "private", False)


def test_cut_json_cannot_be_read() -> None:
    cut = json.dumps(INSPECT, indent=4)[:-40]
    with pytest.raises(ParseError) as error:
        parse([text(cut, "inspect.json")])
    assert (error.value.source, error.value.line) == ("inspect.json", 1)


@pytest.mark.parametrize(
    "content", ["[" * 100_000, '{"ShmSize": ' + "9" * 5000 + "}", '["ShmSize", 5]', '[null]\n"IpcMode"']
)
def test_hostile_json(content: str) -> None:
    with contextlib.suppress(ParseError):
        parse([text('"ShmSize"\n' + content)])


@pytest.mark.parametrize(
    ("line", "shm", "ipc", "gpus"),
    [
        ("docker run --gpus all --shm-size 16g -p 8000:8000 vllm/vllm-openai:v0.15.0 --model x", 16 << 30, "", True),
        ("$ sudo docker run -it --rm --runtime nvidia --ipc=host image:1 bash", None, "host", True),
        ("podman run --device nvidia.com/gpu=all --shm-size=64m img", 64 << 20, "", True),
        ("docker run -d ubuntu sleep 1", None, "", False),
    ],
)
def test_command_lines(line: str, shm: int | None, ipc: str, gpus: bool) -> None:
    (one,) = read(line)
    assert (one.shm_size, one.ipc_mode, one.gpus_requested) == (shm, ipc, gpus)


def test_a_command_over_several_lines() -> None:
    (one,) = read(
        "docker run -d --name llm --gpus '\"device=0,1\"' \\\n  --ulimit memlock=-1 --cap-add SYS_NICE \\\n"
        "  -e NCCL_DEBUG=INFO -v /a:/b --net=host --restart unless-stopped \\\n  lmsysorg/sglang:v0.5 \\\n  python3 -m sglang\nnext line\n"
    )
    assert (one.name, one.image, one.memlock, one.network_mode) == ("llm", "lmsysorg/sglang:v0.5", -1, "host")
    assert (one.capabilities, one.restart) == (("SYS_NICE",), "unless-stopped")
    assert one.environment == (("NCCL_DEBUG", "INFO"),)
    assert one.command == ("python3", "-m", "sglang")


def test_process_table_of_docker() -> None:
    a, b = read(
        "CONTAINER ID   IMAGE              COMMAND                  CREATED        STATUS                       PORTS     NAMES\n"
        'a1b2c3d4e5f6   vllm/vllm:v0.15    "python3 -m vllm.ent…"   2 hours ago    Up 2 hours (healthy)         8000/tcp  llm\n'
        'b1b2c3d4e5f6   sglang:v0.5        "bash"                   3 days ago     Exited (137) 5 minutes ago             other\n'
    )
    assert (a.name, a.image, a.running, a.exit_code) == ("llm", "vllm/vllm:v0.15", True, None)
    assert (b.name, b.running, b.exit_code) == ("other", False, 137)


def test_compose() -> None:
    first, second = read(
        "services:\n  llm:\n    image: vllm/vllm-openai:v0.15.0\n    shm_size: 16gb\n    ipc: host\n    restart: unless-stopped\n"
        "    environment:\n      - NCCL_DEBUG=INFO\n    ulimits:\n      memlock: -1\n    cap_add:\n      - SYS_NICE\n"
        "    deploy:\n      resources:\n        reservations:\n          devices:\n            - driver: cdi\n"
        "              device_ids: [nvidia.com/gpu=all]\n  web:\n    image: nginx\n    network_mode: host\n"
    )
    assert (first.name, first.image, first.shm_size, first.ipc_mode) == (
        "llm",
        "vllm/vllm-openai:v0.15.0",
        16 << 30,
        "host",
    )
    assert (first.restart, first.memlock, first.capabilities, first.gpus_requested) == (
        "unless-stopped",
        -1,
        ("SYS_NICE",),
        True,
    )
    assert first.environment == (("NCCL_DEBUG", "INFO"),)
    assert (second.name, second.network_mode, second.gpus_requested) == ("web", "host", False)


def test_a_fragment_of_compose() -> None:
    (one,) = read("I added\n    shm_size: 2gb\n    ipc: private\nand it works\n")
    assert (one.shm_size, one.ipc_mode) == (2 << 30, "private")


def test_a_host_without_containers_has_answered() -> None:
    found = parse([Text("docker inspect", (), probe=PROBE.name)])
    assert found is not None
    assert found.containers == ()


@pytest.mark.parametrize(
    "line",
    [
        "   docker run --gpus all --ipc=host --ulimit memlock=-1 --ulimit stack=67108864 ...",
        "please use docker run --ipc=host and try again",
        "(start it with docker run --gpus all)",
    ],
)
def test_advice_is_no_container(line: str) -> None:
    assert parse([text(line)]) is None


@pytest.mark.parametrize("line", ["we run docker in production", "image: foo.png", "ipc: broken", '{"a": 1}'])
def test_words_about_containers_are_none(line: str) -> None:
    assert not recognise(text(line))
