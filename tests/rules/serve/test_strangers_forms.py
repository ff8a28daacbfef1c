"""Forms that threads of people who know nothing of these rules show: each with what only looks like it."""

import pytest
from judging import causes, diagnose

from qops.report import Verdict

FP4 = "--quantization modelopt_fp4 --model acme/Q-NVFP4\n"

FRAME = 'ERROR [multiproc_executor.py:5]   File "/v/worker/gpu_model_runner.py", line 9, in '
BAR = "Capturing batches (bs=160 avail_mem=9.1 GB):   4%|#    | 1/23 [00:08<02:10,  6.0s/it]\n"
BEGIN = "[2026-01-01 10:00:00 TP0] Capture cuda graph begin. This can take up to several minutes. avail mem=9.8 GB\n"
HERMES = '"content": "<tool_call>\\n{\\"name\\": \\"now\\"}</tool_call>"\n'
UNBALANCED = "RuntimeError: The memory capacity is unbalanced. Some GPUs may be occupied by other processes.\n"

CAUSES: list[tuple[str, dict[str, str]]] = [
    # llama.cpp, TensorRT-LLM and its Triton backend say it in their own words.
    ("kv-cache-too-small", {"e.log": "E llama_kv_cache_init: failed to allocate buffer for kv cache\n"}),
    (
        "kv-cache-too-small",
        {
            "e.log": "[E] Executor creation failed due to insufficient GPU memory.\n\n"
            "The following component could not be created: KV cache\nTotal GPU memory (GiB): 79.10\n"
        },
    ),
    (
        "kv-cache-too-small",
        {"e.log": "unexpected error: maxTokensInPagedKvCache must be large enough to process at least 1 sequence\n"},
    ),
    (
        "cuda-oom-warmup",
        {"e.log": "Error: Warmup(Generation(\"Not enough memory to handle 2048 prefill tokens. You need to decrease\"))\n"},
    ),
    ("port-in-use", {"e.log": "The server socket has failed to listen.\ncode: -98,\nname: EADDRINUSE,\nmessage: taken\n"}),
    ("engine-bad-flag", {"e.log": "ValueError: With `vllm serve`, you should provide the model as a positional argument\n"}),
    ("engine-bad-flag", {"e.log": "lmdeploy: error: unrecognized arguments: --tool-call-parser\n"}),
    # The hub answers 401 to who shows no token that it knows, whether it has the repository or not.
    (
        "hf-auth-missing",
        {
            "e.log": "huggingface_hub.errors.RepositoryNotFoundError: 401 Client Error. (Request ID: Root=1-7)\n"
            "Repository Not Found for url: https://huggingface.co/api/models/acme/inner/revision/main.\n"
        },
    ),
    (
        "engine-model-not-found",
        {"e.log": "huggingface_hub.errors.RepositoryNotFoundError: 404 Client Error. (Request ID: Root=1-7)\n"},
    ),
    ("engine-model-not-found", {"e.log": "Weight files referenced in index but missing: {'/m/model-00003.safetensors'}\n"}),
    (
        "model-hub-unreachable",
        {"e.log": "HfHubHTTPError: 503 Server Error: Service Unavailable for url: https://huggingface.co/api/models/a/b\n"},
    ),
    (
        "model-hub-unreachable",
        {
            "e.log": "OfflineModeIsEnabled: Cannot reach https://huggingface.co/api/models/acme/q: offline mode is enabled. "
            "To disable it, please unset the `HF_HUB_OFFLINE` environment variable.\n"
        },
    ),
    ("hf-xet-download-stall", {"o.txt": "hf-xet==1.4.0\nthe transfer never progresses, for hours\n"}),
    ("hf-xet-download-stall", {"o.txt": "it works if I disable XET\n"}),
    ("hf-xet-download-stall", {"o.txt": "with HF_HUB_DISABLE_XET=1 the same shard completes in a minute\n"}),
    ("hf-xet-download-stall", {"o.txt": "Uninstalling hf-xet: now the download finishes\n"}),
    # Two values of NVFP4 lie in a byte.
    (
        "nvfp4-ignore-list-shape-mismatch",
        {
            "e.log": "AssertionError: target.shape=torch.Size([2048, 320]),\n"
            "                loaded_weight.shape=torch.Size([2048, 640])\n" + FP4
        },
    ),
    ("tool-call-parser-mismatch", {"o.txt": '"content": "<|python_start|>{\\"name\\": \\"f\\"}", "tool_calls": []\n'}),
    (
        "tool-call-parser-mismatch",
        {
            "o.txt": "--tool-call-parser llama4_pythonic\n"
            '"content": "{\\"type\\": \\"function\\", \\"name\\": \\"ls\\", \\"parameters\\": {}}", "tool_calls": null\n'
        },
    ),
    (
        "tool-call-parser-mismatch",
        {"o.txt": "--tool-call-parser qwen25\n\"content\":\"<tool_call>\\n<function=now>\\n</function>\\n</tool_call>\"\n"},
    ),
    (
        "cpu-thread-oversubscription",
        {"o.txt": "cpu.max: 400000 100000\nnr_periods 9000\nnr_throttled 8700\nthrottled_usec 1\n"},
    ),
    ("cpu-thread-oversubscription", {"o.txt": "ollama runner --threads 96 --port 4000\nsrun --cpus-per-task=12\n"}),
    (
        "cpu-thread-oversubscription",
        {"o.txt": "nproc: 32\n", "env.txt": "OMP_NUM_THREADS=16\n", "e.log": "vllm serve m --tensor-parallel-size 8\n"},
    ),
    (
        "cpu-thread-oversubscription",
        {"o.txt": "cat /sys/fs/cgroup/cpu.max\n800000 100000\nnr_periods 700\nnr_throttled 650\n"},
    ),
    ("cpu-thread-oversubscription", {"o.txt": "nr_periods 5120 / nr_throttled 4001\n"}),
    ("cpu-thread-oversubscription", {"o.txt": "with OMP_NUM_THREADS=12 the slow decode is solved\n"}),
    (
        "cpu-thread-oversubscription",
        {"o.txt": 'resources:\n  limits:\n    cpu: "6"\ntorch.get_num_threads() 64\n'},
    ),
    (
        "tool-call-parser-mismatch",
        {
            "o.txt": "'tool_call_parser': 'llama3_json',\n"
            '"content": "```json\\n{\\n  \\"name\\": \\"f\\",\\n  \\"parameters\\": {}}\\n```", "tool_calls": []\n'
        },
    ),
    (
        "tool-call-parser-mismatch",
        {"o.txt": '--tool-call-parser hermes\n"content": "<|channel|>commentary to=functions.ls <|constrain|>json", x\n'},
    ),
    ("hf-xet-download-stall", {"o.txt": "hf-xet 1.3.0\nHF_HUB_DISABLE_XET=1 -> loads fine\n"}),
    (
        "cuda-oom-warmup",
        {
            "e.log": "INFO enc_dec_model_runner.py:297] Starting profile run for multi-modal models.\n"
            "ERROR worker: CUDA out of memory. Tried to allocate 1.25 GiB. GPU 0 has\n"
        },
    ),
    (
        "gb10-unified-memory-oom",
        {"e.log": "ggml_cuda_init: Device 0: NVIDIA GB10\nallocating 9000.00 MiB on device 0: cudaMalloc failed: out of memory\n"},
    ),
    (
        "gb10-unified-memory-oom",
        {
            "s.txt": "NVIDIA GB10\n",
            "o.txt": "               total        used        free      shared  buff/cache   available\n"
            "Mem:           119Gi       115Gi       1.0Gi        10Mi       3.1Gi       3.9Gi\n"
            "Swap:           15Gi        15Gi        64Mi\n",
        },
    ),
    (
        "cuda-oom-graph-capture",
        {
            "e.log": "Capturing num tokens (num_tokens=512 avail_mem=0.20 GB):  40%|##  | 20/50 [00:09<00:10]Traceback\n"
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 96.00 MiB. GPU 0 has\n"
        },
    ),
    # Capture runs the model on dummies: its frame stands above theirs, which are nearer to the error.
    (
        "cuda-oom-graph-capture",
        {"e.log": FRAME + "capture_model\n" + FRAME + "_dummy_run\nERROR torch.OutOfMemoryError: CUDA out of memory.\n"},
    ),
    (
        "cuda-oom-warmup",
        {"e.log": FRAME + "profile_run\n" + FRAME + "_dummy_run\nERROR torch.OutOfMemoryError: CUDA out of memory.\n"},
    ),
    (
        "cuda-oom-warmup",
        {
            "e.log": FRAME + "capture_model\nINFO Graph capturing finished in 9 secs\n" + FRAME + "_dummy_sampler_run\n"
            "ERROR torch.OutOfMemoryError: CUDA out of memory.\n"
        },
    ),
    # As a terminal wraps it, and the end alone.
    (
        "kv-cache-too-small",
        {"e.log": "ValueError: the model's max seq len (90000), (7.5 GiB KV cach\ne is needed, which is lar\nger than\n"},
    ),
    ("kv-cache-too-small", {"e.log": "which is larger than the available KV cache memory (3.10 GiB).\n"}),
    ("tool-call-parser-mismatch", {"e.log": "ERROR [x_tool_parser.py:7] Error trying to handle streaming tool call.\n"}),
    ("graph-capture-multinode-deadlock", {"e.log": BAR, "o.txt": "--nnodes 2 --tp 16\nwith --disable-cuda-graph it works\n"}),
    (
        "graph-capture-multinode-deadlock",
        {"e.log": BEGIN + "  8%|▊    | 2/24 [00:09<01:40,  4.5s/it]\n", "o.txt": "two B200 nodes, enforce_eager works\n"},
    ),
    ("graph-capture-multinode-deadlock", {"e.log": BEGIN + "[2026-01-01 TP0] Capture cuda graph bs [1, 2, 4]\n", "o.txt": "4 nodes; with --disable-cuda-graph no hang\n"}),
    (
        "nvfp4-ignore-list-shape-mismatch",
        {"e.log": "RuntimeError: size_n = 2152 is not divisible by tile_n_size = 64\n" + FP4},
    ),
    ("graph-capture-multinode-deadlock", {"e.log": BAR + "server_args=ServerArgs(nnodes=4, node_rank=0)\n"}),
    # What ended with an error did not stand.
    (
        "cuda-oom-graph-capture",
        {"e.log": BAR + "torch.OutOfMemoryError: CUDA out of memory. GPU 3 has\n", "o.txt": "--nnodes 2 --tp 16\n"},
    ),
    ("gb10-unified-memory-oom", {"e.log": UNBALANCED, "s.txt": "NVIDIA GB10\n"}),
    (
        "gb10-unified-memory-oom",
        {
            "e.log": "torch.OutOfMemoryError: CUDA out of memory. GPU 0 has a total capacity of 119.70 GiB of which 0.90\n",
            "o.txt": "$ free -g\n               total        used        free      shared  buff/cache   available\n"
            "Mem:             119          30           2           0          86          88\n",
        },
    ),
]  # fmt: skip


@pytest.mark.parametrize(("cause", "files"), CAUSES)
def test_the_cause_comes_first(cause: str, files: dict[str, str]) -> None:
    assert causes(files)[:1] == [cause]


@pytest.mark.parametrize(
    "files",
    [
        {"e.log": "The following component could not be created: Model\n"},
        {"e.log": "WARNING 12-16 [argparse_utils.py:195] With `vllm serve`, you should provide the model as a positional\n"},
        {"e.log": "HF login failed: Cannot reach https://huggingface.co/api/whoami-v2: offline mode is enabled.\n"},
        {"e.log": "HfHubHTTPError: 503 Server Error for url: https://huggingface.co/a/b\nINFO:  Application startup complete.\n"},
        {"o.txt": "it does not work without xet\nhf-xet==1.4.0\n"},
        {"o.txt": "disabling xet changes nothing\n"},
        # A tensor that was not split over the ranks, or one of another size altogether.
        {"e.log": "AssertionError: target.shape=torch.Size([2048, 640]),\nloaded_weight.shape=torch.Size([4096, 640])\nINT4\n"},
        {"e.log": "AssertionError: target.shape=torch.Size([2048, 640]),\nloaded_weight.shape=torch.Size([4096, 320])\n" + FP4},
        # The parser for the very format: one call that it left alone says nothing of the choice.
        {"o.txt": "--tool-call-parser qwen3_coder\n\"content\":\"<tool_call>\\n<function=now>\\n</tool_call>\"\n"},
        {"o.txt": '--tool-call-parser hermes\n"content": "<tool_call>\\n{\\"name\\": \\"now\\"}</tool_call>"\n'},
        {"o.txt": "cpu.max: 400000 100000\nnr_periods 9000\nnr_throttled 300\n"},
        {"o.txt": "ollama runner --threads 12 --port 4000\nsrun --cpus-per-task=12\n"},
        {"o.txt": "nproc: 32\n", "env.txt": "OMP_NUM_THREADS=4\n", "e.log": "vllm serve m --tensor-parallel-size 8\n"},
        {"o.txt": "cpus: 0-95\nollama runner --threads 96\n"},
        {"o.txt": "it is not solved by OMP_NUM_THREADS\n"},
        {"o.txt": '--tool-call-parser openai\n"content": "<|channel|>commentary to=functions.ls <|constrain|>json", x\n'},
        {"o.txt": '--tool-call-parser deepseekv32\n"content": "<｜DSML｜function_calls>", "tool_calls": null\n'},
        {
            "s.txt": "NVIDIA GB10\n",
            "o.txt": "               total        used        free      shared  buff/cache   available\n"
            "Mem:           119Gi        95Gi       1.0Gi        10Mi        23Gi        21Gi\n"
            "Swap:           15Gi        15Gi        64Mi\n",
        },
        {"e.log": UNBALANCED},
        {"e.log": BEGIN + "100%|█████| 24/24 [00:30<00:00,  1.2s/it]\n", "o.txt": "two B200 nodes, nothing moves\n"},
        {"e.log": BEGIN + "  8%|▊    | 2/24 [00:09<01:40,  4.5s/it]\n", "o.txt": "one host with 2 NUMA nodes\n"},
        {"e.log": "RuntimeError: size_n = 672 is not divisible by tile_n_size = 64\n" + FP4},
        {"e.log": "RuntimeError: size_n = 4304 is not divisible by tile_n_size = 64\n--quantization fp8\n"},
        {"e.log": BAR + "Traceback (most recent call last):\nAssertionError\n", "o.txt": "--nnodes 2 --tp 16\n"},
        {"o.txt": "hf-xet 1.4.0 installed\n"},
        {"o.txt": '"content": "{\\"name\\": \\"Ann\\", \\"arguments\\": \\"for and against\\"}"\n'},
        {"e.log": "warming up the model\nINFO:  Application startup complete.\ntorch.OutOfMemoryError: CUDA out of memory. GPU\n"},
        {"e.log": BAR, "o.txt": "tried on two nodes apart\n"},
        {"o.txt": "--tool-call-parser hermes\n" + HERMES, "e.log": "Error trying to handle streaming tool call.\n"},
        {"e.log": BAR, "o.txt": "--nnodes 1 --tp 8\n"},
        {"o.txt": "--nnodes 2 --tp 16\nwith --disable-cuda-graph it works\n"},
    ],
)  # fmt: skip
def test_look_alikes(files: dict[str, str]) -> None:
    assert causes(files) == []


def test_the_message_says_why_the_hub_was_not_asked() -> None:
    files = {"e.log": "Cannot reach https://hf.co/a/b/resolve/main/config.json: offline mode is enabled.\n"}
    report = diagnose(files)
    assert report.verdict is Verdict.FAULT and "HF_HUB_OFFLINE" in report.findings[0].message
