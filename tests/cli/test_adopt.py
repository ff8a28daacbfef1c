"""`qops adopt` as people and scripts meet it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import yaml

QOPS = [sys.executable, "-m", "qops"]
PLANTED = "hf_" + "Yx7" * 12


def _run(*arguments: str, given: str = "", **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*QOPS, "adopt", *arguments],
        input=given, capture_output=True, text=True, timeout=60, check=False, env={**os.environ, **more},
    )  # fmt: skip


def _compose(folder: Path) -> Path:
    path = folder / "compose.yaml"
    path.write_text(
        "services:\n  llm:\n    image: vllm/vllm-openai:${TAG}\n    gpus: all\n    env_file: own.env\n"
        "    volumes: ['./m:/m']\n    command: /m --served-model-name whale\n"
    )
    (folder / ".env").write_text("TAG=v0.33.0\n")
    (folder / "own.env").write_text(f"HF_TOKEN={PLANTED}\nVLLM_LOGGING_LEVEL=DEBUG\n")
    return path


def test_a_compose_file_with_what_lies_beside_it(tmp_path: Path) -> None:
    done = _run(str(_compose(tmp_path)))
    assert (done.returncode, done.stderr) == (0, "")
    assert PLANTED not in done.stdout and "# compose" not in done.stdout
    loaded = yaml.safe_load(done.stdout)
    (instance,) = loaded["inference_service_instances"]
    assert instance["environment"] == {"VLLM_LOGGING_LEVEL": "DEBUG"} and instance["volumes"] == [f"{tmp_path}/m:/m"]
    assert loaded["inference_service_secrets"] == {"llm": {"HF_TOKEN": "{{ vault_llm_hf_token }}"}}
    (host,) = json.loads(_run(str(tmp_path / "compose.yaml"), "--format", "json").stdout)["hosts"]
    assert host["secrets"] == {"llm": ["HF_TOKEN"]} and host["adopted"][0]["version"] == "0.33.0"
    assert host["inference_service_instances"] == [
        {**instance, "command": ["vllm", "serve", *["/m", "--served-model-name", "whale"]]}
    ]


def test_a_unit_with_its_drop_ins(tmp_path: Path) -> None:
    unit = tmp_path / "whale.service"
    unit.write_text("[Service]\nExecStart=/v/bin/vllm serve /m --port 8001\nUser=ann\n")
    (tmp_path / "whale.service.d").mkdir()
    (tmp_path / "whale.service.d/user.conf").write_text("[Service]\nUser=bob\nNice=-5\n")
    done = _run(str(unit), "--version", "0.32.0")
    (instance,) = yaml.safe_load(done.stdout)["inference_service_instances"]
    assert (instance["user"], instance["port"]) == ("bob", 8001)
    assert "checked for 0.32.0" in done.stdout and f"Nice=-5 ({tmp_path}/whale.service.d/user.conf:3)" in done.stdout


def test_what_the_release_refuses_gives_status_1_and_the_inventory_all_the_same() -> None:
    done = _run("-", given="docker run --gpus all vllm/vllm-openai:v0.33.0 /m --swap-space 4\n")
    assert done.returncode == 1 and "# error: stdin:1: --swap-space" in done.stdout
    assert yaml.safe_load(done.stdout)["inference_service_instances"]


def test_where_qops_runs_says_nothing_of_where_the_engine_is() -> None:
    around = {"VIRTUAL_ENV": "/own", "PATH": f"/own/bin:{os.environ['PATH']}"}
    done = _run("-", given="vllm serve /m\n", **around)
    assert done.returncode == 1 and "/own" not in done.stdout and "vllm is no absolute path" in done.stdout
    done = _run("-", given="export PATH=/v/bin:$PATH\nvllm serve /m\n", **around)
    assert done.returncode == 0 and "/v/bin/vllm serve /m" in done.stdout and "/own" not in done.stdout


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    compose = _compose(tmp_path)
    (tmp_path / ".env").unlink()
    for arguments, told in (
        ((str(compose),), f"{compose}:3: $TAG has no value here"),
        ((str(tmp_path),), "is no file"),
        (("spark-1",), "a host of an inventory needs -i INVENTORY"),
        ((str(tmp_path / "own.env"),), "no engine was found"),
        (("-i", "none.yml", "a", "b"), "one host or pattern at a time"),
    ):
        done = _run(*arguments)
        assert done.returncode == 2 and told in done.stderr and done.stdout == "", arguments
        assert PLANTED not in done.stderr
    (tmp_path / "large.sh").write_bytes(b"x" * 1_000_001)
    assert "has more than 1 MB" in _run(str(tmp_path / "large.sh")).stderr


def test_a_host_that_cannot_be_reached(tmp_path: Path) -> None:
    (tmp_path / "hosts.yml").write_text("all:\n  hosts:\n    a: {ansible_host: 127.0.0.1, ansible_port: 9}\n")
    done = _run("-i", str(tmp_path / "hosts.yml"), "a", "-q")
    assert (done.returncode, done.stdout) == (4, "") and done.stderr.startswith("a: ")


def test_control_characters_do_not_reach_the_terminal() -> None:
    done = _run("-", given="docker run --gpus all --label '\x1b[2J\x9b' -e 'A=\x1b[31mx' vllm/vllm-openai:v0.33.0 /m\n")
    assert done.returncode == 0 and not any(char in done.stdout for char in "\x1b\x9b")
