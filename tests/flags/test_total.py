"""Any text whatever gives remarks, or one error that says what is wrong with it: never a traceback."""

import os
import time

import pytest
from mangling import mangled

from qops.data import engines
from qops.errors import UsageError
from qops.flags import check, sources
from qops.transports.base import clean

COUNT = int(os.environ.get("QOPS_FUZZ", "200"))
SAMPLES = (
    """\
[Service]
Environment=A=1 "B=--port 2"
ExecStart=-/usr/bin/docker run --rm -e VLLM_A -eX=1 vllm/vllm-openai:v0.33.0 \\
  ${M} --max-model-len 256k --hf-overrides '{"text_config": {"rope_parameters": {"rope_type": "yarn", "factor": 4,
  "original_max_position_embeddings": 10}}}' --config c.yaml $B
""",
    """\
x: &x
  A: "1"
services:
  a:
    image: vllm/vllm-openai:v0.33.0
    environment:
      <<: *x
      VLLM_B: 2
    command: >
      --model M
      --speculative-config '{"method":"mtp","num_speculative_tokens":5}'
      --compilation-config.level 3
  b:
    entrypoint: [python3, -m, sglang.launch_server]
    environment: [A=1, NCCL_P2P_LEVEL=2]
    command: --model-path M --cuda-graph-max-bs 4 --page-size 64 --tp 2
""",
    """\
export SGLANG_A=1
NCCL_P2P_DISABLE=0 bash -c 'vllm serve M -tp 2 -O3 --served-model-name a b --served-model-name= -q fp8 --no-x -1'
python3 -m sglang.launch_server --model-path M --speculative-algo NEXTN \\
  --mamba-scheduler-strategy extra_buffer "$(cat x)" ${Y:-1}
""",
    "VLLM_A=1\nexport B='x'\n",
)


def test_every_text_is_taken_or_refused_in_one_sentence() -> None:
    for data in mangled(SAMPLES, COUNT):
        text = clean(data.decode("utf-8", "replace"))
        began = time.monotonic()
        for engine in ("", "vllm", "sglang"):
            try:
                found = sources.read(text, "file", engine)
                for one in found.commands:
                    version = "0.32.0" if one.engine == "vllm" else "0.5.16"
                    remarks = check(engines.load(one.engine), version, one, {"c.yaml": text})
                    assert all(remark.message and remark.flag for remark in remarks)
            except UsageError:
                continue
        assert time.monotonic() - began < 5, text


def test_a_value_that_nests_for_ever_is_no_json() -> None:
    deep = "[" * 100_000
    for text in (f"vllm serve M --hf-overrides '{deep}'", f"vllm serve M --speculative-config '{{{deep}'"):
        found = sources.read(text, "file").commands[0]
        check(engines.load("vllm"), "0.33.0", found)


def test_an_anchor_that_holds_itself_is_told() -> None:
    text = "services:\n  a: &a\n    <<: *a\n    image: vllm/vllm-openai\n    command: M\n"
    with pytest.raises(UsageError, match="file:2: nested too deep, or an anchor that holds itself"):
        sources.read(text, "file")
