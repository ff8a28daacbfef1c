"""site.yml for a Spark, from a bare host to an answered chat completion: the real vLLM with a hybrid model.

The model is tiny and of random weights, and has linear attention and experts; it is served with the parsers, the
reasoning and the template's switch that such models are served with.
"""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from endings import record
from serving import ENVIRONMENT, Serving, engine_lab, instance, rows

pytestmark = [pytest.mark.lab, pytest.mark.slow]

COMMAND = (
    "/opt/vllm/bin/vllm serve /opt/vllm/models/tiny-qwen3-5-moe --served-model-name tiny --enforce-eager"
    " --max-model-len 4096 --gpu-memory-utilization 0.2 --max-num-seqs 8 --shutdown-timeout 10"
    " --reasoning-parser qwen3 --enable-auto-tool-choice --tool-call-parser qwen3_coder"
    """ --default-chat-template-kwargs '{"enable_thinking": false}' --mamba-ssm-cache-dtype float16"""
)
# Transformers' code for this model imports torchvision, which the engine's layer has a stand-in for.
HYBRID = instance(command=COMMAND, environment={**ENVIRONMENT, "PYTHONPATH": "/opt/vllm/stubs"})


@pytest.fixture(scope="module", name="serving")
def bare_spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with engine_lab(tmp_path_factory.mktemp("state"), "vllm", "spark") as lab:
        serving = Serving(lab, "spark-1")
        serving.given["inference_service_instances"] = [HYBRID]
        yield serving


def _said(output: str, host: str) -> list[str]:
    """Return what the roles' plans say that they would set, or set."""
    return sorted(set(re.findall(rf"^  {host}: (.+ -> .+)$", output, re.M)))


def _diffs(output: str) -> set[str]:
    """Return what changes in files, line by line."""
    return {line for line in output.splitlines() if re.match(r"[+-](?![+-]{2} )", line)}


def test_from_a_bare_host_to_an_answer_as_check_mode_said(serving: Serving, tmp_path: Path) -> None:
    host = serving.host
    status, before = serving.lines(tmp_path, "-l", "spark", "--check", tags="all")
    assert status == 0, before[-3000:]
    assert serving.on("ls -d /etc/qops /usr/local/lib/qops 2>/dev/null || true") == ""

    began = time.monotonic()
    status, after = serving.lines(tmp_path, "-l", "spark", tags="all")
    assert status == 0, after[-3000:]
    record("bare host", "site.yml, vLLM 0.32.0", time.monotonic() - began, "a hybrid model answers")
    assert _said(before, host) == _said(after, host)
    assert _diffs(before) == _diffs(after)
    would, did = rows(before, host), rows(after, host)
    assert set(would) <= set(did) | {"firewall : Say what would be installed"}
    # What acts on files and packages that a bare host has not yet is left out of check mode; its role is not.
    assert {task.split(" : ")[0] for task in would} == {task.split(" : ")[0] for task in did}

    status, output, changed = serving.play(tmp_path, "-l", "spark", tags="all")
    assert (status, changed) == (0, 0), output[-3000:]


def test_it_chats_and_its_flags_are_in_force(serving: Serving) -> None:
    answer = serving.ask()
    assert answer.endswith("200")
    found = json.loads(answer[:-3])
    assert found["usage"]["completion_tokens"] > 0
    log = serving.on("journalctl -u qops-serve-tiny --no-pager -o cat")
    assert "Resolved architecture: Qwen3_5MoeForCausalLM" in log
    (told,) = re.findall(r"non-default args: (\{.*\})", log)[-1:]
    for flag in ("'reasoning_parser': 'qwen3'", "'tool_call_parser': 'qwen3_coder'", "'enable_thinking': False"):
        assert flag in told
