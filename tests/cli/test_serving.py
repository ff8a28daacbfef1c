"""`qops plan --recipe` and `qops recipes list|show|check NAME` as people and scripts meet them."""

import json
import os
import subprocess
import sys
from pathlib import Path

QOPS = [sys.executable, "-m", "qops"]
MINE = """\
name: mine
extends: qwen3.5-397b-nvfp4-vllm
model: {revision: 0123456789abcdef0123456789abcdef01234567}
flags:
  - --max-num-seqs: 64
"""


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*QOPS, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "COLUMNS": "80"},
    )


def _mine(folder: Path) -> str:
    folder.mkdir(exist_ok=True)
    (folder / "mine.yaml").write_text(MINE)
    return str(folder)


def test_recipes_are_listed_and_filtered(tmp_path: Path) -> None:
    done = _run("recipes", "list", "--class", "spark")
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == [
        "qwen3.6-35b-gdn4lm4-spark-vllm",
        "qwen3.6-35b-gdn4lm4-spark-vllm-many",
    ]
    found = json.loads(_run("recipes", "list", "--engine", "sglang", "--format", "json").stdout)
    assert {row["engine"]["name"] for row in found["recipes"]} == {"sglang"} and "refused" not in found["recipes"][0]
    assert "mine " in _run("recipes", "list", "--recipes", _mine(tmp_path)).stdout


def test_this_host_runs_none_of_them_and_says_why() -> None:
    found = json.loads(_run("recipes", "list", "--here", "-q", "--format", "json").stdout)
    assert all(row["refused"] for row in found["recipes"])
    done = _run("recipes", "list", "--here", "-q", "--class", "spark")
    assert "2 do not run here:" in done.stdout and "! the recipe is for spark" in done.stdout


def test_a_recipe_is_shown_with_what_became_of_its_sources_settings() -> None:
    done = _run("recipes", "show", "qwen3.5-397b-nvfp4-sglang")
    assert done.returncode == 0
    assert "NCCL_P2P_LEVEL=PHB → left out: PHB lets peer-to-peer go further than by default" in done.stdout
    assert "NCCL_P2P_LEVEL=PHB → NCCL_P2P_LEVEL=PHB: the same is derived" in done.stdout
    assert "SGLANG_DISABLE_DEEP_GEMM=1 left out: no release ever read it" in done.stdout
    assert "releases that were read, 0.5.10 to 0.5.23" in done.stdout
    (row,) = json.loads(_run("recipes", "show", "qwen3.5-397b-nvfp4-sglang", "--format", "json").stdout)["recipes"]
    assert (row["hardware"]["class"], row["hardware"]["gpus"]) == ("rtxpro", 4)
    assert ["--tp-size", "4"] in row["flags"]


def test_recipes_are_checked_by_name(tmp_path: Path) -> None:
    done = _run("recipes", "check", "qwen3.5-397b-awq-sglang", "mine", "--recipes", _mine(tmp_path))
    assert (done.returncode, done.stdout) == (0, "nothing to remark\n")
    done = _run("recipes", "check", "qwen3.5-397b-awq-sglang", "--version", "0.5.9")
    assert done.returncode == 1
    assert "qwen3.5-397b-awq-sglang, sglang 0.5.9: error: --cuda-graph-max-bs-decode" in done.stdout
    (tmp_path / "mine.yaml").write_text(MINE + 'engine: {versions: ">=9.0"}\nimage: {name: acme/engine:own}\n')
    done = _run("recipes", "check", "mine", "--recipes", str(tmp_path))
    assert done.returncode == 0 and "no release of its range was read" in done.stdout
    done = _run("recipes", "check", "qwen3.5-397b-awq")
    assert done.returncode == 2 and "qwen3.5-397b-awq-sglang" in done.stderr


def test_a_recipe_that_does_not_run_here_is_refused_with_reasons() -> None:
    done = _run("plan", "--recipe", "qwen3.5-397b-nvfp4-vllm", "-q")
    assert done.returncode == 1
    assert "! the recipe is for rtxpro, and this host is of unknown class" in done.stdout
    assert "ExecStart" not in done.stdout
    (host,) = json.loads(_run("plan", "--recipe", "qwen3.5-397b-nvfp4-vllm", "-q", "--format", "json").stdout)["hosts"]
    assert host["refused"] and host["artefacts"] == {}
    assert {row["by_hand"] for row in host["reviewed"]} == {"SYS", "1", "8"}
    done = _run("plan", "--recipe", "qwen3.5-397b-nvfp4-vllm", "-q", "--output", "unit")
    assert (done.returncode, done.stdout) == (2, "") and "this host is of unknown class" in done.stderr


def test_recipes_beside_the_inventory_are_known(tmp_path: Path) -> None:
    inventory = tmp_path / "hosts.yml"
    inventory.write_text("all:\n  hosts:\n    nowhere: {ansible_host: 127.0.0.1, ansible_port: 9}\n")
    _mine(tmp_path / "recipes")
    done = _run("plan", "-i", str(inventory), "nowhere", "mine", "-q")
    assert done.returncode == 4 and "nowhere: " in done.stdout
    (tmp_path / "recipes/mine.yaml").write_text(MINE + "port: none\n")
    done = _run("plan", "-i", str(inventory), "nowhere", "mine", "-q")
    assert done.returncode == 2
    assert f"{tmp_path / 'recipes/mine.yaml'}:6: none is no number from 1 to 65535" in done.stderr


def test_what_does_not_go_together_is_said() -> None:
    for arguments, message in (
        (("--recipe", "nothing-like-it"), "no recipe is called 'nothing-like-it'"),
        (("host", "a-recipe"), "is a host of which inventory?"),
        (("--output", "unit"), "belong to a recipe's plan"),
        (("--recipe", "a", "--role", "firewall"), "--role plans roles"),
        (("--recipe", "qwen3.5-397b-nvfp4-vllm", "--gpus", "a"), "--gpus cannot be 'a'"),
        (("--recipe", "qwen3.5-397b-nvfp4-vllm", "--address", "*"), "--address cannot be '*'"),
        (("--recipe", "qwen3.5-397b-nvfp4-vllm", "--name", "A b"), "--name cannot be 'A b'"),
        (("--recipe", "qwen3.5-397b-nvfp4-vllm", "--secret", "a-b=key"), "--secret cannot be 'a-b'"),
    ):
        done = _run("plan", *arguments)
        assert done.returncode == 2 and message in done.stderr, arguments


def test_the_version_is_said_without_the_libraries_that_recipes_need() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "qops", "--version"],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    imported = {line.rsplit("|", 1)[-1].strip() for line in done.stderr.splitlines()}
    assert not imported & {"yaml", "jinja2", "qops.recipes", "qops.plans.service"}
