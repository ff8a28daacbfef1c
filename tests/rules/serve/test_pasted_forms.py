"""Forms in which people paste what these rules look for, beside those in test_causes.py."""

import pytest
from judging import causes, diagnose

from qops.report import Verdict

FORMS = {
    "cuda-oom-graph-capture": [
        {"e.log": '  File "/opt/py/torch/cuda/graphs.py", line 91, in capture_end\nRuntimeError: CUDA error: out of memory\n'},
        {"e.log": "INFO [model_runner.py:1400] Capturing cudagraphs for decoding.\nCUDA out of memory. Tried to allocate 4.00 MiB.\n"},
        {
            "e.log": "Capturing CUDA graph shapes:  20%|##  | 7/35 [00:03<00:12]\n",
            "n.log": "h1:7:7 [0] NCCL WARN Failed to CUDA calloc 4194304 bytes\n",
        },
    ],
    "gb10-unified-memory-oom": [
        {"e.log": "ValueError: Free memory on device (11.02/119.64 GiB) on startup is less than desired GPU memory utilization\n"},
        {
            "e.log": "torch.AcceleratorError: CUDA error: out of memory\n",
            "o.txt": "NVIDIA GB10\nMemTotal:       127500000 kB\nMemFree:         2100000 kB\nCached:         90100000 kB\n",
        },
    ],
    "port-in-use": [
        {"d.txt": "Error response from daemon: failed to bind host port for 0.0.0.0:9000:172.18.0.3:9000/tcp: address already in use\n"},
        {"e.log": "zmq.error.ZMQError: Address already in use (addr='tcp://127.0.0.1:6001')\n"},
    ],
    "hf-xet-download-stall": [
        {"e.log": "hf-xet==1.5.0\nDownloading (incomplete total...): 0%| | 3.11M/9.80G [0:48:20<?, ?B/s]\n"},
    ],
    "nvfp4-ignore-list-garbage": [
        {
            "c.json": 'format: nvfp4-pack-quantized\n"ignore": [\n  "model.layers.0.linear_attn.in_proj_qkv",\n',
            "e.log": "output: !!!!!!!!!!!!!!!!!!!!\n",
        },
    ],
    "nvfp4-ignore-list-shape-mismatch": [
        {"e.log": '  File "models/qwen3_5_mtp.py", line 400, in load_weights\nAssertionError\nmodel: acme/Q-NVFP4\n'},
    ],
    "fp8-kv-scales-missing": [
        {
            "e.log": "Using fp8 data type to store kv cache. It may cause accuracy drop without a proper scaling factor\n",
            "o.txt": "the answers are gibberish\n",
        },
    ],
    "tool-call-parser-mismatch": [
        {"o.txt": "ChatMessage(role='assistant', content='<tool_call>\\n{\"name\": \"now\"}\\n</tool_call>', tool_calls=[])\n"},
    ],
    "cpu-thread-oversubscription": [
        {"o.txt": "nproc: 12\n#4 gomp_team_barrier_wait_end () from libgomp.so.1\n", "env.txt": "OMP_NUM_THREADS=96\n"},
    ],
}  # fmt: skip


@pytest.mark.parametrize(("cause", "files"), [(c, f) for c, forms in FORMS.items() for f in forms])
def test_the_cause_comes_first(cause: str, files: dict[str, str]) -> None:
    assert causes(files)[:1] == [cause]


@pytest.mark.parametrize(
    "files",
    [
        {"e.log": "ValueError: Free memory on device (3.20/79.11 GiB) on startup is less than desired\n"},
        {"e.log": "Downloading (incomplete total...): 0%| | 3.11M/9.80G [00:20<?, ?B/s]\nhf-xet==1.5.0\n"},
        {"e.log": 'AssertionError\n  File "gdn_attn.py", line 237, in build\n{"method":"mtp"} acme/Q-NVFP4\n'},
        {
            "e.log": "Using fp8 data type to store kv cache. It may cause accuracy drop without a proper scaling factor\n"
        },
        {"o.txt": "nproc: 64\n#4 gomp_team_barrier_wait_end () from libgomp.so.1\n", "env.txt": "OMP_NUM_THREADS=8\n"},
    ],
)
def test_look_alikes(files: dict[str, str]) -> None:
    assert causes(files) == []


def test_a_wait_that_ended_is_no_symptom() -> None:
    log = (
        "INFO 10-02 11:00:00 [shm_broadcast.py:600] No available shared memory broadcast block found in 60 seconds.\n"
        "INFO 10-02 11:04:00 [default_loader.py:268] Loading weights took 301.20 seconds\n"
        "INFO:     Application startup complete.\n"
    )
    assert diagnose({"e.log": log}).verdict is Verdict.HEALTHY


def test_an_excerpt_that_begins_with_the_ready_line() -> None:
    log = (
        "INFO:     Application startup complete.\n"
        "INFO 10-02 11:05:00 [loggers.py:120] Engine 000: Avg generation throughput: 61.2 tokens/s, Running: 1 reqs\n"
    )
    assert diagnose({"e.log": log}).verdict is Verdict.HEALTHY


def test_unified_memory_so_full_that_cuda_cannot_tell_what_is_free() -> None:
    files = {"e.log": "torch.cuda.mem_get_info()\nCUDA error: out of memory\n", "s.txt": "NVIDIA GB10\n"}
    assert causes(files)[:1] == ["gb10-unified-memory-oom"]
    assert causes({"e.log": files["e.log"]}) == []


def test_too_few_tokens_for_the_context() -> None:
    assert causes({"e.log": "AssertionError: max_total_num_tokens is too small for the context\n"}) == [
        "kv-cache-too-small"
    ]


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (
            "safetensors_rust.SafetensorError: Error while deserializing header: HeaderTooLarge\n",
            "engine-model-not-found",
        ),
        (
            "OSError: /models/q does not appear to have a file named config.json. Checkout 'x'\n",
            "engine-model-not-found",
        ),
        (
            "OSError: Error no file named model.safetensors, or pytorch_model.bin, found in directory /m.\n",
            "engine-model-not-found",
        ),
        (
            "OSError: Can't load the configuration of '/models/q'. If you were trying to load it\n",
            "engine-model-not-found",
        ),
        (
            "OSError: a/b is not a local folder and is not a valid model identifier listed on 'x'\n",
            "engine-model-not-found",
        ),
        (
            "httpx.HTTPStatusError: Client error '401 Unauthorized' for url 'https://huggingface.co/m/x/resolve/main/c'\n",
            "hf-auth-missing",
        ),
        (
            '{"message":"\\"auto\\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"}\n',
            "tool-call-parser-mismatch",
        ),
    ],
)
def test_more_forms(text: str, cause: str) -> None:
    assert causes({"engine.log": text})[:1] == [cause]


@pytest.mark.parametrize(
    "text",
    [
        # The engine goes on without it.
        "Failed to load generation config: BAAI/x does not appear to have a file named generation_config.json.\n",
        "httpx.HTTPStatusError: Client error '401 Unauthorized' for url 'http://10.0.0.9:8000/v1/models'\n",
    ],
)
def test_more_look_alikes(text: str) -> None:
    assert causes({"engine.log": text}) == []
