"""What the checker says of commands: each with a mistake that people make."""

import pytest

from qops.data import engines
from qops.errors import UsageError
from qops.flags import Assignment, Kind, Remark, Severity, check, check_variables, sources

ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO
Short = tuple[str, str, str, str]  # kind, severity, flag, what to write instead


def _remarks(version: str, text: str, configs: dict[str, str] | None = None) -> list[Remark]:
    found = sources.read(text, "file").commands[0]
    return check(engines.load(found.engine), version, found, configs)


def _said(version: str, text: str, configs: dict[str, str] | None = None) -> list[Short]:
    remarks = _remarks(version, text, configs)
    return [(r.kind, r.severity, r.flag, r.instead) for r in remarks if r.flag != "--gpu-memory-utilization"]


VLLM = "vllm serve M --gpu-memory-utilization 0.9 "
SGLANG = "sglang serve --model-path M "


@pytest.mark.parametrize(
    ("version", "text", "said"),
    [
        # Names
        ("0.33.0", VLLM + "--no-such 1", ("unknown", ERROR, "--no-such", "leave it out")),
        ("0.33.0", VLLM + "--max-nun-seqs 1", ("unknown", ERROR, "--max-nun-seqs", "--max-num-seqs")),
        ("0.33.0", VLLM + "--swap-space 4", ("removed", ERROR, "--swap-space", "leave it out")),
        ("0.17.1", VLLM + "--linear-backend cutlass", ("too-new", ERROR, "--linear-backend", "leave it out, or use 0.22.0")),
        ("0.33.0", VLLM + "--mamba-cache-mode align", ("deprecated", WARNING, "--mamba-cache-mode", "leave it out")),
        ("0.33.0", VLLM + "--tensor-para 2", ("shortened", WARNING, "--tensor-para", "--tensor-parallel-size")),
        (
            "0.33.0",
            VLLM + "--speculative-config.num_tokens 2 --speculative-config.method mtp",
            ("unknown", ERROR, "--speculative-config.num_tokens", "num_speculative_tokens"),
        ),
        (
            "0.5.23",
            SGLANG + "--cuda-graph-max-bs 64",
            ("ambiguous-prefix", ERROR, "--cuda-graph-max-bs", "--cuda-graph-max-bs-decode"),
        ),
        (
            "0.5.16",
            SGLANG + "--cuda-graph-max-bs 64",
            ("deprecated", WARNING, "--cuda-graph-max-bs", "--cuda-graph-max-bs-decode"),
        ),
        (
            "0.5.23",
            SGLANG + "--mamba-scheduler-strategy extra_buffer",
            ("renamed", ERROR, "--mamba-scheduler-strategy", "--mamba-radix-cache-strategy"),
        ),
        (
            "0.5.23",
            SGLANG + "--speculative-algo NEXTN",
            ("shortened", WARNING, "--speculative-algo", "--speculative-algorithm"),
        ),
        ("0.5.23", SGLANG + "--tp_size 2", ("unknown", ERROR, "--tp_size", "--tp-size")),
        (
            "0.5.19",
            SGLANG + "--enable-expert-distribution-metrics",
            ("removed", ERROR, "--enable-expert-distribution-metrics", "--expert-balancedness-report-mode"),
        ),
        # Values
        ("0.33.0", VLLM + "--max-num-seqs 256k", ("wrong-type", ERROR, "--max-num-seqs", "256000")),
        ("0.33.0", VLLM + "--max-model-len 1.5K", ("wrong-type", ERROR, "--max-model-len", "1.5k")),
        ("0.33.0", VLLM + "--port", ("wrong-type", ERROR, "--port", "")),
        ("0.33.0", VLLM + "--enable-prefix-caching true", ("wrong-type", ERROR, "--enable-prefix-caching", "--enable-prefix-caching")),
        ("0.33.0", VLLM + "--async-scheduling=false", ("wrong-type", ERROR, "--async-scheduling", "--no-async-scheduling")),
        ("0.32.0", VLLM + "--kv-cache-dtype fp9", ("wrong-choice", ERROR, "--kv-cache-dtype", "--kv-cache-dtype fp8")),
        (
            "0.33.0",
            VLLM + "--enable-auto-tool-choice --tool-call-parser qwen3-coder",
            ("unknown-parser", ERROR, "--tool-call-parser", "--tool-call-parser qwen3_coder"),
        ),
        ("0.33.0", VLLM + "--mm-encoder-tp-mode dat", ("wrong-choice", ERROR, "--mm-encoder-tp-mode", "--mm-encoder-tp-mode data")),
        (
            "0.33.0",
            VLLM + "--speculative-config '{method:mtp}'",
            ("wrong-type", ERROR, "--speculative-config", "put it in single quotes, with double quotes inside"),
        ),
        ("0.33.0", VLLM + "--compilation-config.level 3", ("renamed", ERROR, "--compilation-config.level", "mode")),
        ("0.33.0", VLLM + "--port.x 3", ("wrong-type", ERROR, "--port", "--port")),
        ("0.5.23", SGLANG + "--fp4-gemm-backend cutlass", ("wrong-choice", ERROR, "--fp4-gemm-backend", "--fp4-gemm-backend flashinfer_cutlass")),
        # Variables
        (
            "0.33.0",
            "env VLLM_NVFP4_GEMM_BACKEND=cutlass " + VLLM,
            ("unread-variable", WARNING, "VLLM_NVFP4_GEMM_BACKEND", "--linear-backend, and --moe-backend for the experts"),
        ),
        ("0.33.0", "VLLM_SLEEP_WHEN_IDLE=1 " + VLLM, ("unread-variable", WARNING, "VLLM_SLEEP_WHEN_IDLE", "leave it out")),
        ("0.33.0", "VLLM_MM_HASHER_ALGORITHM=x " + VLLM, ("unread-variable", WARNING, "VLLM_MM_HASHER_ALGORITHM", "--mm-hasher-algorithm")),
        ("0.33.0", "VLLM_USE_MODELSCOP=1 " + VLLM, ("unread-variable", WARNING, "VLLM_USE_MODELSCOP", "VLLM_USE_MODELSCOPE")),
        ("0.23.0", "VLLM_MXFP4_USE_MARLIN=1 " + VLLM, ("deprecated", WARNING, "VLLM_MXFP4_USE_MARLIN", "--moe-backend")),
        (
            "0.33.0",
            "VLLM_WORKER_MULTIPROC_METHOD=spwan " + VLLM,
            ("wrong-choice", ERROR, "VLLM_WORKER_MULTIPROC_METHOD", "VLLM_WORKER_MULTIPROC_METHOD=spawn"),
        ),
        ("0.33.0", "SAFETENSORS_FAST_GPU=1 " + VLLM, ("unread-variable", WARNING, "SAFETENSORS_FAST_GPU", "leave it out")),
        ("0.33.0", "SGLANG_SET_CPU_AFFINITY=1 " + VLLM, ("unread-variable", INFO, "SGLANG_SET_CPU_AFFINITY", "leave it out")),
        ("0.33.0", "NCCL_P2P_LEVEL=2 " + VLLM, ("deprecated", WARNING, "NCCL_P2P_LEVEL", "NCCL_P2P_LEVEL=PXB")),
        ("0.33.0", "NCCL_P2P_LEVEL=NODE " + VLLM, ("wrong-choice", ERROR, "NCCL_P2P_LEVEL", "")),
        ("0.33.0", "NCCL_P2P_DISABLE=0 " + VLLM, ("unread-variable", INFO, "NCCL_P2P_DISABLE", "leave it out")),
        ("0.5.23", "SGLANG_ENABLE_SPEC_V2=1 " + SGLANG, ("unread-variable", WARNING, "SGLANG_ENABLE_SPEC_V2", "leave it out")),
        ("0.5.16", "SGLANG_ENABLE_SPEC_V2=1 " + SGLANG, ("deprecated", WARNING, "SGLANG_ENABLE_SPEC_V2", "leave it out")),
        (
            "0.5.9",
            "SGLANG_DISABLE_DEEP_GEMM=1 " + SGLANG,
            ("unread-variable", WARNING, "SGLANG_DISABLE_DEEP_GEMM", "SGLANG_ENABLE_JIT_DEEPGEMM=0"),
        ),
        # Commands, images, releases
        (
            "0.33.0",
            "python3 -m vllm.entrypoints.openai.api_server --model M",
            ("command", WARNING, "-m vllm.entrypoints.openai.api_server", "vllm serve MODEL"),
        ),
        (
            "0.5.23",
            "python3 -m sglang.launch_server --model-path M",
            ("command", WARNING, "-m sglang.launch_server", "sglang serve"),
        ),
        ("0.33.0", "vllm serve --model M", ("deprecated", WARNING, "--model", "vllm serve M")),
        ("0.33.0", "vllm serve --port 1", ("command", WARNING, "vllm serve", "name the model")),
        ("0.5.23", "sglang serve --port 1", ("command", ERROR, "sglang serve", "name the model")),
        ("0.33.0", VLLM + "N", ("unknown", ERROR, "N", "leave it out")),
        ("0.5.23", SGLANG + "N", ("unknown", ERROR, "N", "leave it out")),
        ("0.33.0", VLLM + "--config=x.yaml", ("command", ERROR, "--config", "--config x.yaml")),
        ("0.33.0", VLLM + "--config x.yaml", ("command", INFO, "--config", "")),
        ("0.35.0", VLLM, ("version", INFO, "0.35.0", "")),
        ("0.33.0", "docker run vllm/vllm-openai:v0.32.0 M", ("version", WARNING, "vllm/vllm-openai:v0.32.0", "")),
        # Combinations
        (
            "0.33.0",
            VLLM + "--enable-auto-tool-choice",
            ("combination", ERROR, "--enable-auto-tool-choice", "--enable-auto-tool-choice --tool-call-parser NAME"),
        ),
        ("0.33.0", VLLM + "--port 1 --port 2", ("repeated", WARNING, "--port", "one of them")),
        ("0.33.0", VLLM + "--enable-expert-parallel", ("combination", INFO, "--enable-expert-parallel", "leave it out unless the GPUs have NVLink")),
        (
            "0.33.0",
            VLLM + """--speculative-config '{"method": "qwen3_next_mtp", "num_speculative_tokens": 2}'""",
            ("deprecated", WARNING, "--speculative-config", '"method": "mtp"'),
        ),
        (
            "0.33.0",
            VLLM + "--speculative-config.method mtp --speculative-config.num_speculative_tokens 5",
            ("combination", WARNING, "--speculative-config", "2, or 3 after a test under load"),
        ),
        (
            "0.33.0",
            "vllm serve x/Y-NVFP4 --quantization modelopt",
            ("combination", WARNING, "--quantization", "leave it out (or --quantization modelopt_fp4)"),
        ),
        ("0.5.23", "sglang serve --model-path x/Y-AWQ --quantization awq", ("combination", WARNING, "--quantization", "leave it out")),
    ],
)  # fmt: skip
def test_one_mistake_gives_one_remark(version: str, text: str, said: Short) -> None:
    assert _said(version, text) == [said]


@pytest.mark.parametrize(
    ("version", "text"),
    [
        ("0.33.0", VLLM + "--max_model_len 256k --max-num-batched-tokens 8K --tensor_parallel_size=2 -O3"),
        ("0.33.0", VLLM + "--max-model-len -1 --disable-expert-parallel --no-enable-prefix-caching"),
        ("0.32.0", VLLM + "--max-model-len auto --compilation-config.mode 3 --compilation-config.cache_dir /x"),
        ("0.33.0", VLLM + """--kv-cache-dtype fp8 --hf-overrides '{"a": 1}' --limit-mm-per-prompt.image 2"""),
        ("0.33.0", VLLM + "--reasoning-parser mine --reasoning-parser-plugin /x.py --moe-backend FLASHINFER-TRTLLM"),
        ("0.33.0", VLLM + "--port ${PORT} --tensor-parallel-size $SIZE $EXTRA"),
        ("0.17.1", "VLLM_NVFP4_GEMM_BACKEND=cutlass " + VLLM),
        (
            "0.5.9",
            "SGLANG_ENABLE_SPEC_V2=1 " + SGLANG + "--cuda-graph-max-bs 4 --mamba-scheduler-strategy extra_buffer",
        ),
        ("0.5.23", SGLANG + "--tp-size 2 --tool-call-parser qwen3_coder --reasoning-parser auto"),
        ("0.5.23", "sglang serve M --tensor-parallel-size 2"),
        ("0.5.9", "python -m sglang.launch_server --model M"),
        ("0.28.0", "python -m vllm.entrypoints.openai.api_server --model M"),
    ],
)
def test_what_a_release_takes_gets_no_remark(version: str, text: str) -> None:
    assert _said(version, text) == []


def test_a_long_context_needs_its_variable_and_fits_its_stretch() -> None:
    rope = '{"text_config": {"rope_parameters": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1000}}}'
    text = VLLM + f"--hf-overrides '{rope}' --max-model-len "
    assert _said("0.33.0", text + "3000")[0][3] == "VLLM_ALLOW_LONG_MAX_MODEL_LEN=1"
    assert _said("0.33.0", "VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 " + text + "3000") == []
    assert _said("0.33.0", text + "5000") == [("combination", ERROR, "--max-model-len", "--max-model-len 4000")]


def test_a_changed_default_is_told_where_it_is_not_written() -> None:
    (remark,) = _remarks("0.33.0", "vllm serve M")
    assert (remark.kind, remark.severity) == (Kind.COMBINATION, INFO)
    assert "0.9 from 0.16.0 on, 0.92 from 0.20.0 on" in remark.message


def test_a_configuration_file_is_checked_as_the_engine_reads_it() -> None:
    config = "model: M\nport: x\nenable-prefix-caching: false\nspeculative-config: {method: mtp, tokens: 2}\n"
    said = _said("0.33.0", "vllm serve --config c.yaml --max-num-seqs 4", {"c.yaml": config})
    assert said == [
        ("wrong-type", ERROR, "--port", ""),
        ("unknown", ERROR, "--speculative-config.tokens", "num_speculative_tokens"),
        ("deprecated", WARNING, "--model", "vllm serve M"),
    ]
    assert _said("0.33.0", "vllm serve M --config c.yaml", {"c.yaml": "- a\n"})[0][:2] == ("wrong-type", ERROR)
    assert _said("0.33.0", "vllm serve M --config c.yaml", {"c.yaml": "a: [\n"})[0][:2] == ("wrong-type", ERROR)


def test_remarks_name_the_line_and_come_in_its_order() -> None:
    text = "VLLM_SLEEP_WHEN_IDLE=1 \\\nvllm serve M \\\n  --swap-space 4 \\\n  --port x\n"
    remarks = [one for one in _remarks("0.33.0", text) if one.severity is not INFO]
    assert [(one.line, one.flag) for one in remarks] == [
        (1, "VLLM_SLEEP_WHEN_IDLE"), (3, "--swap-space"), (4, "--port"),
    ]  # fmt: skip


def test_variables_alone() -> None:
    remarks = check_variables(engines.load("vllm"), "0.33.0", [Assignment("VLLM_RPC_TIMEOUT", "1", 3)])
    assert [(one.kind, one.line) for one in remarks] == [(Kind.VARIABLE, 3)]
    assert "0.22.1 was the last release that did" in remarks[0].message


@pytest.mark.parametrize("version", ["0.15.1", "nightly", "", "0.x"])
def test_a_release_that_the_data_does_not_reach_is_refused(version: str) -> None:
    with pytest.raises(UsageError):
        _remarks(version, "vllm serve M")


@pytest.mark.parametrize("version", ["v0.33.0", "0.33.0+cu129", "0.33"])
def test_a_release_may_be_written_as_tags_and_builds_write_it(version: str) -> None:
    assert _said(version, VLLM) == []
