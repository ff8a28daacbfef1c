"""Compose files, `docker run` scripts and units in the style in which people write them."""

import pytest
from adopting import COMPOSE, RUN, UNIT, adopted, only, planned, reasons, written

from qops.flags import Severity

ANY = "0.0.0.0"


def test_a_compose_file_with_anchors_defaults_and_a_folded_command() -> None:
    one = only(COMPOSE, files={"/srv/llm/own.env": "TOKENIZERS_PARALLELISM=false\n"})
    assert one.refused == () and one.version == "0.31.0"
    (back,) = planned(one)
    assert back.words == (
        "vllm", "serve", "--model", "/models/whale", "--served-model-name", "whale", "--tensor-parallel-size", "2",
        "--speculative-config", '{"method":"mtp","num_speculative_tokens":2}', "--port", "5001", "--host", ANY,
    )  # fmt: skip
    assert (back.port, back.address, back.gpus, back.model) == (5001, ANY, (2, 3), "whale")
    assert [(m.source, m.target, m.writable) for m in back.mounts] == [
        ("/srv/llm/models", "/models", False), ("/home/ann/own.jinja", "/own.jinja", True),
    ]  # fmt: skip
    assert one.instance["environment"] == {
        "TOKENIZERS_PARALLELISM": "false", "NCCL_DEBUG": "WARN", "SAFETENSORS_FAST_GPU": "1",
    }  # fmt: skip
    assert list(one.secrets) == ["HF_TOKEN"]
    left = reasons(one)
    for what in ("ipc: host", "shm_size: 16g", "restart: unless-stopped", "ulimits:", "service web"):
        assert what in left
    assert "docker volume inspect" in left["volume cache at /root/.cache/huggingface"]
    assert "home of whoever runs this" in left["~/own.jinja"]
    assert ("--model", Severity.WARNING) in [(remark.flag, remark.severity) for remark in one.remarks]
    assert any(remark.flag == "SAFETENSORS_FAST_GPU" for remark in one.remarks)


def test_what_stands_around_the_command_wins_over_the_default() -> None:
    one = only(COMPOSE, NAME="orca", VLLM_TAG="v0.33.0", files={"/srv/llm/.env": "NAME=other\nVLLM_TAG=v0.30.0\n"})
    assert (one.version, planned(one)[0].model) == ("0.33.0", "orca")
    one = only(COMPOSE, files={"/srv/llm/.env": "NAME=other\n"})
    assert planned(one)[0].model == "other"


@pytest.mark.parametrize(
    ("gpus", "expected"),
    [
        ("runtime: nvidia", "all"),
        ("runtime: nvidia\n    environment: {NVIDIA_VISIBLE_DEVICES: '1,3'}", [1, 3]),
        ("gpus: all", "all"),
        ("devices: [nvidia.com/gpu=0, nvidia.com/gpu=1]", [0, 1]),
        ("devices: [/dev/nvidia2, /dev/nvidiactl, /dev/nvidia-uvm]", [2]),
        ("deploy: {resources: {reservations: {devices: [{count: all, capabilities: [gpu]}]}}}", "all"),
        ("deploy: {resources: {reservations: {devices: [{count: 2, capabilities: [gpu]}]}}}", [0, 1]),
        ("gpus: [{device_ids: ['GPU-5']}]", ["GPU-5"]),
        ("gpus: all\n    environment: [CUDA_VISIBLE_DEVICES=2]", [2]),
        ("devices: [nvidia.com/gpu=4, nvidia.com/gpu=5]\n    environment: [CUDA_VISIBLE_DEVICES=1]", [5]),
        ("tty: true", []),
    ],
)
def test_each_way_to_give_gpus(gpus: str, expected: object) -> None:
    text = f"services:\n  a:\n    image: vllm/vllm-openai:v0.33.0\n    command: [/m]\n    {gpus}\n"
    one = only(text)
    assert one.instance["gpus"] == expected
    assert not {"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"} & set(one.instance.get("environment", {}))
    assert one.instance["command"] == ["vllm", "serve", "/m"]


def test_a_script_with_docker_run() -> None:
    one = only(RUN, HF_TOKEN="hf_" + "a1" * 20)
    (back,) = planned(one)
    assert back.words == (
        "sglang", "serve", "--model-path", "/models/orca", "--served-model-name", "orca", "--host", ANY,
        "--port", "8100", "--tp-size", "4", "--reasoning-parser", "qwen3",
    )  # fmt: skip
    assert (back.name, back.port, back.address, back.gpus) == ("orca-1", 8100, ANY, (4, 5, 6, 7))
    assert back.environment["NOTE"] == "costs $5" and back.secrets == ("HF_TOKEN",)
    assert [m.source for m in back.mounts] == ["/mnt/raid0/models", "/home/ann/.cache/huggingface"]
    left = reasons(one)
    assert {"--ipc host", "--shm-size 32g", "--network host", "--restart always", "--detach"} <= set(left)
    assert "only the start of the engine" in left["docker rm"]


def test_a_script_with_arrays_a_folder_of_its_own_and_a_file_of_variables() -> None:
    text = """\
#!/usr/bin/env bash
ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
set -a; source "$ROOT/own.env"; set +a
MODEL=${MODEL_PATH:-${OTHER_MODEL:-/models/x}}
if [[ -z "$MODEL" ]]; then
  echo "no model" >&2; exit 1
fi
declare -a ARGS=(
  --served-model-name "$NAME"   # what clients say (all of them)
  --speculative-config '{"method":"mtp","num_speculative_tokens":2}'
)
if [ -n "${EXTRA:-}" ]; then
  ARGS+=(--max-num-seqs "${EXTRA}")
fi
exec "$ROOT/venv/bin/vllm" serve "$MODEL" "${ARGS[@]}" --port "${PORT:-8000}"
"""
    variables = f"NAME='orca 1'\nEXTRA=5\nHF_TOKEN={'hf_' + 'b2' * 15}\n"
    one = only(text, files={"/srv/own.env": variables, "/srv/llm/../own.env": variables})
    assert one.instance["command"] == [
        "/srv/venv/bin/vllm", "serve", "/models/x", "--served-model-name", "orca 1",
        "--speculative-config", '{"method":"mtp","num_speculative_tokens":2}', "--max-num-seqs", "5", "--port", "8000",
    ]  # fmt: skip
    assert one.instance["name"] == "orca-1" and list(one.secrets) == ["HF_TOKEN"]
    assert [remark.line for remark in one.remarks] == [15] and "condition" in reasons(one)["ARGS+="]


@pytest.mark.parametrize("given", ["own.env", "./own.env", "../llm/own.env", "/srv/llm/own.env", "~/own.env"])
def test_a_file_of_variables_is_looked_for_beside_the_script(given: str) -> None:
    folder = "/home/ann" if given.startswith("~") else "/srv/llm"
    text = f"docker run --gpus all --env-file {given} vllm/vllm-openai:v0.33.0 /m\n"
    assert only(text, files={f"{folder}/own.env": "# said\nA=b c\n"}).instance["environment"] == {"A": "b c"}
    assert "could not be read" in reasons(only(text))[f"--env-file {given}"]


def test_what_compose_is_told_goes_over_its_files_of_variables() -> None:
    text = (
        "services:\n  a:\n    image: vllm/vllm-openai:v0.33.0\n    gpus: all\n    command: /m\n"
        "    environment: {A: here}\n    env_file:\n      - {path: ./own.env, required: false}\n      - none.env\n"
    )
    one = only(text, files={"/srv/llm/own.env": "A=there\nB='b c' # said\nC=${HOME}/x\n"})
    assert one.instance["environment"] == {"A": "here", "B": "b c", "C": "/home/ann/x"}
    assert "could not be read" in reasons(one)["env_file: none.env"]


def test_a_script_that_calls_vllm() -> None:
    text = """\
export CUDA_VISIBLE_DEVICES=0,1
export VLLM_LOGGING_LEVEL=DEBUG
CONTEXT=32768
source /opt/venv/bin/activate
cd /srv
nohup env NCCL_DEBUG=WARN vllm serve acme/whale --max-model-len "$CONTEXT" --host 127.0.0.1 > /var/log/vllm.log 2>&1 &
"""
    one = only(text)
    (back,) = planned(one)
    assert back.words == (
        "/opt/venv/bin/vllm", "serve", "acme/whale", "--max-model-len", "32768", "--host", "127.0.0.1",
    )  # fmt: skip
    assert (back.runtime, back.gpus, back.port) == ("venv", (0, 1), 8000)
    assert one.instance["environment"]["PATH"].startswith("/opt/venv/bin:")
    assert one.instance["environment"]["VLLM_LOGGING_LEVEL"] == "DEBUG"
    assert one.instance["environment"]["NCCL_DEBUG"] == "WARN" and "CONTEXT" not in one.instance["environment"]


@pytest.mark.parametrize(
    ("start", "program"),
    [
        ("/opt/v/bin/python -m vllm.entrypoints.openai.api_server --model /m", "/opt/v/bin/python"),
        ("/opt/conda/bin/conda run -n serving vllm serve /m", "/opt/conda/envs/serving/bin/vllm"),
        ("conda run -p /opt/env vllm serve /m", "/opt/env/bin/vllm"),
        ("source /opt/conda/bin/activate serving && vllm serve /m", "/opt/conda/envs/serving/bin/vllm"),
        (". /v/bin/activate; exec vllm serve /m", "/v/bin/vllm"),
        ("export PATH=/v/bin:$PATH; vllm serve /m", "/v/bin/vllm"),
        ("bash -lc 'source /v/bin/activate && vllm serve /m'", "/v/bin/vllm"),
    ],
)
def test_where_a_bare_engine_is(start: str, program: str) -> None:
    one = only(start, PATH="/usr/bin:/bin")
    assert one.instance["command"][0] == program and one.refused == ()


def test_a_bare_engine_without_a_path_is_refused() -> None:
    one = only("vllm serve /m", PATH="/usr/bin")
    assert "is no absolute path" in one.refused[0] and one.wrong


DEFAULTS = '# of vllm\nMODEL=/mnt/models/whale\nAPI_KEY="not to be seen"\nEXTRA=--max-num-seqs 8\n'


def test_a_unit_with_its_environment_and_a_drop_in() -> None:
    drop_in = "# /etc/systemd/system/whale.service.d/gpu.conf\n[Service]\nEnvironment=CUDA_VISIBLE_DEVICES=0\nNice=\n"
    whole = f"# /etc/systemd/system/whale.service\n{UNIT}\n{drop_in}"
    one = only(whole, "whale.service", {"/etc/default/whale": DEFAULTS})
    (back,) = planned(one)
    assert back.words == (
        "/opt/vllm/bin/vllm", "serve", "/mnt/models/whale", "--served-model-name", "whale", "--max-model-len", "16384",
        "--max-num-seqs", "8", "--host", ANY,
    )  # fmt: skip
    assert (back.name, back.user, back.gpus, back.secrets) == ("whale", "llm", (0,), ("VLLM_API_KEY", "API_KEY"))
    assert one.instance["environment"]["HF_HOME"] == "/mnt/models/hf cache"
    left = reasons(one)
    assert "drop-in" in left["RequiresMountsFor=/mnt/models"] and "its own" in left["Restart=on-failure"]
    assert "ExecStartPre=/usr/bin/nvidia-smi" in left
    assert "not to be seen" not in repr(one) + str(written(one))


def test_a_drop_in_takes_the_command_back() -> None:
    text = UNIT.replace("[Install]", "ExecStart=\nExecStart=/opt/new/bin/vllm serve /m\n\n[Install]")
    assert only(text, "whale.service").instance["command"][:3] == ["/opt/new/bin/vllm", "serve", "/m"]


def test_a_unit_that_runs_docker() -> None:
    text = """\
[Service]
Environment=TAG=v0.33.0
ExecStartPre=-/usr/bin/docker rm -f %p
ExecStart=/usr/bin/docker run --rm --name %p --gpus all -p 8000:8000 -e TAG \\
  -v /models:/models vllm/vllm-openai:${TAG} /models/a --served-model-name 'a b %% $$5'
"""
    one = only(text, "llm@7.service")
    (back,) = planned(one)
    assert back.words[2:5] == ("/models/a", "--served-model-name", "a b % $5")
    assert (back.name, back.image, back.environment["TAG"]) == ("llm", "vllm/vllm-openai:v0.33.0", "v0.33.0")


def test_a_unit_that_runs_a_script() -> None:
    text = "[Service]\nUser=ann\nExecStart=/home/ann/start.sh /models/whale\n"
    script = "#!/bin/bash\nsource /home/ann/venv/bin/activate\nexec vllm serve $1 --port 8005\n"
    one = only(text, "own.service", {"/home/ann/start.sh": script})
    assert one.instance["command"] == ["/home/ann/venv/bin/vllm", "serve", "/models/whale", "--port", "8005"]
    assert (one.instance["user"], one.instance["name"]) == ("ann", "own")
    assert adopted(text, "own.service") == []  # what cannot be read is not guessed


def test_a_quadlet() -> None:
    text = """\
[Container]
ContainerName=whale
Image=docker.io/vllm/vllm-openai:v0.33.0
AddDevice=nvidia.com/gpu=all
PublishPort=127.0.0.1:8000:8000
Volume=/models:/models:ro,z
Environment=NCCL_DEBUG=WARN "NOTE=a b"
ShmSize=8g
PodmanArgs=--ipc=host
Exec=/models/whale --served-model-name whale
[Service]
Restart=always
"""
    one = only(text, "whale.container")
    (back,) = planned(one)
    assert (back.runtime, back.words[:3], back.address) == ("podman", ("vllm", "serve", "/models/whale"), "127.0.0.1")
    assert back.environment["NOTE"] == "a b" and back.gpus == tuple(range(8))
    assert "/models: z" in reasons(one)


def test_several_engines_get_names_of_their_own() -> None:
    service = "    image: vllm/vllm-openai:v0.33.0\n    container_name: {0}\n    gpus: [{{device_ids: ['{1}']}}]\n"
    text = "services:\n  a:\n" + service.format("Whale_1", 0) + "    command: [/m, --port, '1']\n  b:\n"
    text += service.format("whale-1", 1) + "    command: [/m]\n"
    made = adopted(text)
    assert [one.instance["name"] for one in made] == ["whale-1", "whale-1-2"]
    assert [one.name for one in planned(*made)] == ["whale-1", "whale-1-2"]


def test_what_a_shell_in_the_container_does_before_is_left() -> None:
    text = """\
services:
  a:
    image: acme/engine:1
    gpus: all
    entrypoint: ["/bin/bash", "-c"]
    command:
      - |
        pip install -U transformers
        export VLLM_LOGGING_LEVEL=DEBUG
        exec vllm serve /m --served-model-name m
"""
    one = only(text)
    assert one.instance["command"] == ["vllm", "serve", "/m", "--served-model-name", "m"]
    assert one.instance["environment"] == {"VLLM_LOGGING_LEVEL": "DEBUG"}
    assert "only the start of the engine" in reasons(one)["pip install"]


def test_what_ansible_would_take_for_a_template_is_marked() -> None:
    text = "docker run --gpus all -e 'A={{ x }}' vllm/vllm-openai:v0.33.0 /m --chat-template '{% raw %}'\n"
    one = only(text)
    assert written(one)["inference_service_instances"][0]["environment"]["A"] == "{{ x }}"
    assert planned(one)[0].words[4] == "{% raw %}"


def test_a_flag_that_the_release_refuses_is_told_with_its_line() -> None:
    one = only("docker run --gpus all \\\n vllm/vllm-openai:v0.33.0 /m \\\n --swap-space 4\n")
    (error,) = [remark for remark in one.remarks if remark.severity is Severity.ERROR]
    assert (error.flag, error.line) == ("--swap-space", 3) and one.wrong
