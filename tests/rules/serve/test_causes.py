"""The serve family: what each cause prints, what only looks like it, and silence without evidence."""

import pytest
from judging import causes, diagnose, judged

from qops.report import Verdict
from qops.rule import Role, Rule
from qops.rules import ALL
from qops.rules.serve.allocator_vs_custom_allreduce import allocator_vs_custom_allreduce
from qops.rules.serve.cpu_thread_oversubscription import cpu_thread_oversubscription
from qops.rules.serve.cuda_oom_graph_capture import cuda_oom_graph_capture
from qops.rules.serve.cuda_oom_warmup import cuda_oom_warmup
from qops.rules.serve.engine_bad_flag import engine_bad_flag
from qops.rules.serve.engine_context_too_long import engine_context_too_long
from qops.rules.serve.engine_core_failed import engine_core_failed
from qops.rules.serve.engine_model_not_found import engine_model_not_found
from qops.rules.serve.engine_ready import engine_ready
from qops.rules.serve.engine_silent_at_nccl import engine_silent_at_nccl
from qops.rules.serve.fork_after_cuda_init import fork_after_cuda_init
from qops.rules.serve.fp8_kv_scales_missing import fp8_kv_scales_missing
from qops.rules.serve.gb10_unified_memory_oom import gb10_unified_memory_oom
from qops.rules.serve.graph_capture_error_masked import graph_capture_error_masked
from qops.rules.serve.hf_auth_missing import hf_auth_missing
from qops.rules.serve.hf_xet_download_stall import hf_xet_download_stall
from qops.rules.serve.kv_cache_too_small import kv_cache_too_small
from qops.rules.serve.nvfp4_ignore_list_garbage import nvfp4_ignore_list_garbage
from qops.rules.serve.nvfp4_ignore_list_shape_mismatch import nvfp4_ignore_list_shape_mismatch
from qops.rules.serve.port_in_use import port_in_use
from qops.rules.serve.shm_broadcast_wait import shm_broadcast_wait
from qops.rules.serve.tool_call_parser_mismatch import tool_call_parser_mismatch

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 2 has a total capacity of 94.97 GiB"

POSITIVE: list[tuple[Rule, dict[str, str]]] = [
    (
        kv_cache_too_small,
        {
            "engine.log": "(EngineCore pid=77) ValueError: To serve at least one request with the models's max seq len "
            "(131072), (18.00 GiB KV cache is needed, which is larger than the available KV cache memory (4.21 GiB). "
            "Based on the available memory, the estimated maximum model length is 30528. Try increasing\n"
        },
    ),
    (
        kv_cache_too_small,
        {"engine.log": "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n"},
    ),
    (
        cuda_oom_warmup,
        {
            "engine.log": "RuntimeError: CUDA out of memory occurred when warming up sampler with 512 dummy requests. "
            f"Please try lowering `max_num_seqs`\n{OOM}\n"
        },
    ),
    (
        cuda_oom_graph_capture,
        {"engine.log": f"Capturing CUDA graphs (decode, FULL):  14%|#4   | 5/35\n(Worker_TP1 pid=9) {OOM}\n"},
    ),
    (
        cuda_oom_graph_capture,
        {
            "engine.log": f"Capture cuda graph begin. avail mem=2.11 GB\n{OOM}\nException: Capture cuda graph failed: CUDA\n"
        },
    ),
    (
        graph_capture_error_masked,
        {
            "engine.log": "[TP0] Capture cuda graph begin. This can take up to several minutes. avail mem=1.90 GB\n"
            "[TP0] Registering 0 cuda graph addresses\n[TP3] Registering 0 cuda graph addresses\n"
        },
    ),
    (
        gb10_unified_memory_oom,
        {
            "dmesg.txt": "NVRM: nvCheckOkFailedNoLog: Check failed: Out of memory [NV_ERR_NO_MEMORY] (0x00000051)\n"
            "python3 invoked oom-killer: gfp_mask=0x140dca(GFP_HIGHUSER_MOVABLE), order=0\n"
        },
    ),
    (
        gb10_unified_memory_oom,
        {
            "smi.txt": "|   0  NVIDIA GB10                    On  |   0000000F:01:00.0 Off |                  N/A |\n",
            "engine.log": "ValueError: Free memory on device cuda:0 (88.10/119.70 GiB) on startup is less than desired\n",
        },
    ),
    (
        allocator_vs_custom_allreduce,
        {
            "env.txt": "PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:512,expandable_segments:True\n",
            "engine.log": "Failed: Cuda error /workspace/csrc/custom_all_reduce.cuh:455 'invalid argument'\n",
        },
    ),
    (
        cpu_thread_oversubscription,
        {
            "lscpu.txt": "Architecture: x86_64\nCPU(s): 8\nVendor ID: AuthenticAMD\n",
            "processes.txt": "== pid 11\nRANK=0\nOMP_NUM_THREADS=16\n== pid 12\nRANK=1\nOMP_NUM_THREADS=16\n",
        },
    ),
    (
        fork_after_cuda_init,
        {
            "engine.log": "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing\n"
        },
    ),
    (port_in_use, {"engine.log": "OSError: [Errno 98] Address already in use\n"}),
    (
        port_in_use,
        {"docker.txt": "Error response from daemon: Bind for 0.0.0.0:8000 failed: port is already allocated\n"},
    ),
    (
        hf_auth_missing,
        {"engine.log": "OSError: You are trying to access a gated repo.\nMake sure to have access to it at the hub\n"},
    ),
    (
        hf_auth_missing,
        {"engine.log": "huggingface_hub.errors.GatedRepoError: 403 Client Error. (Request ID: Root=1-6)\n"},
    ),
    (
        hf_xet_download_stall,
        {
            "notes.txt": "hf_xet 1.5.1 in the image\nmodel-00003-of-00017.safetensors: 41%|####  | 2.0G/4.9G stuck, 0.00B/s\n"
        },
    ),
    (
        nvfp4_ignore_list_garbage,
        {
            "config.json": '"format": "nvfp4-pack-quantized",\n"ignore": ["lm_head", "model.layers.0.linear_attn.in_proj_z"],\n',
            "answer.txt": "the answer is garbage: !!!!!!!!!!!!!!!!!!!!\n",
        },
    ),
    (
        nvfp4_ignore_list_shape_mismatch,
        {"engine.log": "ValueError: There is no module or parameter named 'mtp.fc.weight_scale_2' in Qwen3NextMTP\n"},
    ),
    (
        fp8_kv_scales_missing,
        {"engine.log": "WARNING Using KV cache scaling factor 1.0 for fp8_e4m3. This may cause accuracy issues.\n"},
    ),
    (
        tool_call_parser_mismatch,
        {"engine.log": "ERROR [hermes_tool_parser.py:138] Error in extracting tool call from response.\n"},
    ),
    (
        engine_bad_flag,
        {"engine.log": "vllm serve: error: argument --kv-cache-dtype: invalid choice: 'fp9' (choose from 'auto')\n"},
    ),
    (
        engine_context_too_long,
        {
            "engine.log": "Value error, User-specified max_model_len (300000) is greater than the derived max_model_len "
            "(max_position_embeddings=40960.0 or model_max_length=None in model's config.json)\n"
        },
    ),
    (
        engine_model_not_found,
        {"engine.log": "safetensors_rust.SafetensorError: Error while deserializing header: incomplete metadata\n"},
    ),
]

NEGATIVE: list[tuple[str, dict[str, str]]] = [
    (
        "a hint that hf_xet is not installed",
        {
            "engine.log": "Xet Storage is enabled for this repo, but the 'hf_xet' package is not installed. Falling back "
            "to regular HTTP download.\n"
        },
    ),
    (
        "scales of queries, which are missed also beside those of keys and values",
        {
            "engine.log": "WARNING 11-30 09:00:20 [kv_cache.py:134] Checkpoint does not provide a q scaling factor. "
            "Setting it to k_scale. This only matters for FP8 Attention backends (flash-attn or flashinfer).\n"
            "WARNING 11-30 09:00:20 [kv_cache.py:190] Using uncalibrated q_scale 1.0 and/or prob_scale 1.0 with fp8 "
            "attention. This may cause accuracy issues.\n"
        },
    ),
    (
        "a setting of the allocator beside an FP8 cache",
        {
            "engine.log": "Using fp8 data type to store kv cache. It may cause accuracy drop without a proper scaling "
            "factor\n",
            "env.txt": "PYTORCH_CUDA_ALLOC_CONF=garbage_collection_threshold:0.7\n",
        },
    ),
    (
        "a call of a tool that takes no arguments",
        {"answer.json": '{"tool_calls":[{"function":{"name":"clock","arguments":"{}"}}]}\n'},
    ),
    (
        "a cache that fits",
        {"engine.log": "GPU KV cache size: 812,416 tokens\nMaximum concurrency for 40,960 tokens: 19x\n"},
    ),
    ("memory that ran out while serving", {"engine.log": f"Application startup complete.\n{OOM}\n"}),
    (
        "a capture that ended",
        {
            "engine.log": "Capture cuda graph begin. avail mem=9.90 GB\nRegistering 0 cuda graph addresses\n"
            "Capture cuda graph end. Time elapsed: 11.2 s\n"
        },
    ),
    (
        "expandable segments that only an error text advises",
        {
            "engine.log": f"{OOM}. If reserved memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True "
            "to avoid fragmentation.\nRuntimeError: invalid argument\n"
        },
    ),
    (
        "a port of RAS that a second job cannot have",
        {"nccl.log": "n1:5:5 [0] ras/client_support.cc:160 NCCL WARN Call to bind failed: Address already in use\n"},
    ),
    (
        "a hub that answers 404",
        {"engine.log": "404 Client Error: Not Found for url: https://huggingface.co/a/b/resolve/main/x\n"},
    ),
    ("a version of hf_xet without the stall", {"notes.txt": "hf_xet 1.5.4\nthe download stalled once and went on\n"}),
    (
        "an NVFP4 checkpoint without such layers",
        {"config.json": '"format": "nvfp4-pack-quantized",\n"ignore": ["lm_head"]\n'},
    ),
    (
        "scales that the checkpoint has",
        {"engine.log": "Loaded k_scale and v_scale from the checkpoint for fp8 KV cache\n"},
    ),
    ("an engine that is told to stop", {"engine.log": "[shutdown] API server: shutdown triggered\nEngineDeadError\n"}),
]


@pytest.mark.parametrize(("rule", "files"), POSITIVE, ids=[r.cause for r, _ in POSITIVE])
def test_the_cause_comes_first(rule: Rule, files: dict[str, str]) -> None:
    assert causes(files)[:1] == [rule.cause]


@pytest.mark.parametrize("files", [f for _, f in NEGATIVE], ids=[name for name, _ in NEGATIVE])
def test_a_look_alike_accuses_nobody_of_this_family(files: dict[str, str]) -> None:
    family = {r.cause for r in ALL if r.family == "serve" and r.role is Role.CAUSE}
    assert [c for c in causes(files) if c in family] == []


@pytest.mark.parametrize("rule", [r for r in ALL if r.family == "serve"], ids=lambda r: r.cause)
def test_nothing_seen_is_unknown(rule: Rule) -> None:
    assert judged(rule) is None


def test_the_broadcast_wait_is_undetermined_alone_and_excused_by_a_load() -> None:
    line = "INFO [shm_broadcast.py:871] No available shared memory broadcast block found in 60 seconds.\n"
    assert diagnose({"engine.log": line}).verdict is Verdict.UNDETERMINED
    rows = "".join(
        f"2026/05/04 11:00:{s:02d}.000, 0, 3 %, 0 %, 110.0 W, {4000 + 600 * s} MiB, 1900 MHz, P0\n" for s in range(12)
    )
    report = diagnose({"engine.log": line, "samples.csv": rows})
    assert report.verdict is Verdict.HEALTHY
    assert [e.cause for e in report.ruled_out] == [shm_broadcast_wait.cause]


def test_a_dead_engine_is_a_symptom_and_a_log_that_ends_at_nccl_too() -> None:
    dead = diagnose({"engine.log": "RuntimeError: Engine core initialization failed. See root cause above.\n"})
    assert (dead.verdict, dead.findings[0].code) == (Verdict.UNDETERMINED, engine_core_failed.code)
    silent = diagnose({"engine.log": "INFO [pynccl.py:70] vLLM is using nccl==2.29.7\n"})
    assert (silent.verdict, silent.findings[0].code) == (Verdict.UNDETERMINED, engine_silent_at_nccl.code)


def test_an_engine_that_serves_is_a_sign_of_health() -> None:
    log = "INFO [api_server.py:1] vLLM API server version 0.30.0\nINFO:     Application startup complete.\n"
    report = diagnose({"engine.log": log})
    assert report.verdict is Verdict.HEALTHY
    assert engine_ready.code in [f.code for f in report.findings]


START = "INFO 12-01 09:00:01 [api_server.py:1884] vLLM API server version 0.30.0\n"
SYMPTOMS = (engine_core_failed, engine_silent_at_nccl, shm_broadcast_wait)


@pytest.mark.parametrize("rule", SYMPTOMS, ids=lambda r: r.cause)
def test_what_shows_only_in_an_engine_that_serves_is_unknown_while_it_starts(rule: Rule) -> None:
    begun = diagnose({"engine.log": START + "INFO 12-01 09:00:12 [parallel_state.py:1208] rank 0 in world size 2\n"})
    assert dict(begun.coverage.unknown)[rule.code] == ("an engine that serves",)
    ready = diagnose({"engine.log": START + "INFO:     Application startup complete.\n"})
    assert rule.code not in dict(ready.coverage.unknown)


def test_a_symptom_that_is_seen_is_known_while_the_engine_starts() -> None:
    seen = diagnose({"engine.log": START + "RuntimeError: Engine core initialization failed. See root cause above.\n"})
    assert engine_core_failed.code in [f.code for f in seen.findings]
    assert engine_core_failed.code not in dict(seen.coverage.unknown)


def test_a_call_that_lacks_what_its_tool_needs() -> None:
    schema = '{"tools":[{"function":{"name":"weather","parameters":{"required":["city"]}}}]}\n'
    call = '{"tool_calls":[{"function":{"name":"weather","arguments":"{}"}}]}\n'
    assert causes({"request.json": schema, "answer.json": call}) == ["tool-call-parser-mismatch"]
