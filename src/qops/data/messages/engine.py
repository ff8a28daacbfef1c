"""Messages of vLLM, SGLang and PyTorch's allocator, as a serving engine prints them."""

from qops.evidence.message import Message

KV_TOO_SMALL = Message(
    "engine-kv-too-small",
    r"max seq len \((?P<wanted>\d+)\).{0,60}?(?:KV cache is\s*needed|GiB KV cac)|"
    r"larger than the available KV [Cc]ache memory|"
    r"is larger than the maximum number of tokens that can be stored in KV cache|"
    r"No available memory for the cache blocks|"
    r"Not enough memory\W{1,2}Please try to increase --mem-fraction-static|"
    r"Max(?:imum)? model length is \d+.{0,80}larger than the KV cache|"
    r"(?:max_total_num_tokens|max_total_tokens)\s*[=:]?\s*\d*.{0,40}(?:too small|smaller than)|"
    r"estimated maximum model length is (?P<fits>\d+)|"
    r"failed to allocate buffer for kv cache|could not be created: (?:Initial )?KV cache|"
    r"maxTokensInPagedKvCache must be large enough",
    (
        "max seq len",
        "larger than the available KV",
        "stored in KV cache",
        "memory for the cache blocks",
        "mem-fraction-static",
        "larger than the KV cache",
        "max_total_num_tokens",
        "max_total_tokens",
        "estimated maximum model length",
        "buffer for kv cache",
        "could not be created: ",
        "maxTokensInPagedKvCache",
    ),
    "vllm/v1/core/kv_cache_utils.py check_enough_kv_cache_memory (0.15 to 0.33); sglang model_runner.py; llama.cpp "
    "src/llama-kv-cache.cpp; tensorrt_llm/_torch/pyexecutor/py_executor_creator.py; tensorrtllm_backend#168",
)
CUDA_OOM = Message(
    "engine-cuda-oom",
    r"CUDA out of memory|torch\.(?:cuda\.)?OutOfMemoryError|CUDA error: out of memory|cudaErrorMemoryAllocation|"
    r"Failed to CUDA calloc|cudaMalloc\w{0,10} failed: out of memory|Not enough memory to handle \d+ (?:prefill|total) tokens",
    ("out of memory", "OutOfMemoryError", "cudaErrorMemoryAllocation", "CUDA calloc", "memory to handle "),
    "c10/cuda/CUDACachingAllocator.cpp (2.11, run); vllm-project/vllm issues; text-generation-inference#710, #1164",
)
WARMUP = Message(
    "engine-warmup",
    r"(?:CUDA out of memory|out of memory) occurred when warming up (?:the )?sampler|when warming up sampler with|"
    r"profile_run|_dummy_run|_dummy_sampler_run|determine_(?:num_)?available_(?:blocks|memory)|kernel_warmup|"
    r"warm(?:ing)?[ _]up (?:the )?(?:model|sampler|kernels?)|init engine \(profile|compile_or_warm_up_model|"
    r"Not enough memory to handle \d+ (?:prefill|total) tokens|sequence length used for profiling|Starting profile run",
    (
        "warming up",
        "warm up",
        "warm_up",
        "profile_run",
        "_dummy_run",
        "_dummy_sampler_run",
        "determine_available",
        "determine_num_available",
        "kernel_warmup",
        "warmup",
        "init engine (profile",
        "memory to handle ",
        "length used for profiling",
        "Starting profile run",
    ),
    "vllm/v1/worker/gpu_model_runner.py, gpu_worker.py (0.17 to 0.33); text-generation-inference, which asks for as many "
    "tokens as it may get while it warms up",
)
CAPTURE = Message(
    "engine-graph-capture",
    r"Captur(?:e|ing) (?:the model for )?CUDA ?graphs?|Capture cuda graph begin|Capturing batches|capture_model\b|"
    r"cuda_graph_runner|graph_capture|Capture cuda graph failed|cudagraph_capture|Graph capturing (?:could not|finished)|"
    r"/cuda/graphs\.py\", line|cuda_graph\.capture_(?:begin|end)|Capturing num tokens",
    (
        "CUDA graph",
        "CUDAgraph",
        "/cuda/graphs.py",
        "cuda_graph.capture",
        "Capturing batches",
        "Capturing num tokens",
        "capture_model",
        "cuda_graph_runner",
        "graph_capture",
        "cudagraph_capture",
        "Graph capturing",
    ),
    "vllm gpu_model_runner.py capture_model; sglang cuda_graph_runner.py; torch/cuda/graphs.py",
)
CAPTURE_FAILED = Message(
    "engine-graph-capture-failed",
    r"Capture cuda graph failed",
    ("Capture cuda graph failed",),
    "sglang/srt/model_executor/cuda_graph_runner.py",
)
CAPTURE_DONE = Message(
    "engine-graph-capture-done",
    r"Graph capturing finished|Capture cuda graph end|init engine \(profile.*took",
    ("Graph capturing finished", "Capture cuda graph end", "init engine (profile"),
    "vllm gpu_model_runner.py; sglang model_runner.py",
)
GRAPH_ADDRESSES = Message(
    "engine-register-zero-graph-addresses",
    r"Registering 0 cuda graph addresses",
    ("Registering 0 cuda graph addresses",),
    "sglang and vllm custom_all_reduce.py",
)
STARTUP_MEMORY = Message(
    "engine-startup-memory",
    r"(?:Free|Available) memory on (?:device|node)(?: \S+)? \((?P<free>[\d.]+)/(?P<total>[\d.]+) GiB\) on startup is less than",
    ("on startup is less than",),
    "vllm/v1/worker/utils.py request_memory (0.9 to 0.33)",
)
MEM_GET_INFO = Message(
    "engine-mem-get-info",
    r"\bcudaMemGetInfo\b|\bmem_get_info\b",
    ("cudaMemGetInfo", "mem_get_info"),
    "torch/cuda/memory.py; vllm-project/vllm#48140",
)
UNBALANCED = Message(
    "engine-memory-unbalanced",
    r"The memory capacity is unbalanced",
    ("memory capacity is unbalanced",),
    "sglang/srt/model_executor/model_runner.py (0.1 to 0.5)",
)
NVRM_NO_MEMORY = Message(
    "engine-nvrm-no-memory",
    r"NV_ERR_NO_MEMORY|NVRM:.*Out of memory",
    ("NV_ERR_NO_MEMORY", "Out of memory"),
    "open-gpu-kernel-modules nvstatuscodes.h; vllm#56824",
)
NVIDIA_SYSMEM = Message(
    "engine-nvidia-sysmem-allocation",
    r"sysmemAllocResources|osAllocPages\w*|_memdescAllocInternal|nv_alloc_pages",
    ("sysmemAllocResources", "osAllocPages", "_memdescAllocInternal", "nv_alloc_pages"),
    "open-gpu-kernel-modules src/nvidia/src/kernel/gpu/mem_mgr",
)
UNIFIED_BOARD = Message(
    "engine-unified-board",
    r"\bGB10\b|DGX Spark|\bsm_121a?\b|HYPERVISOR.*GB10|GPU \d+ has a total capacity of 1(?:1[5-9]|2[0-6])\.\d+ GiB",
    ("GB10", "DGX Spark", "sm_121", "total capacity of 1"),
    "nvidia-smi on GB10 prints the name; PyTorch's allocator prints 119 to 122 GiB, which no other board has",
)
MEMORY_FRACTION = Message(
    "engine-memory-fraction",
    r"(?:GPU_MEM(?:ORY)?_UTIL(?:IZATION)?|--gpu[-_]memory[-_]utilization|--mem[-_]fraction[-_]static)[ =](?P<value>0?\.\d+|1(?:\.0+)?)",
    ("GPU_MEM", "gpu-memory-utilization", "gpu_memory_utilization", "mem-fraction-static", "mem_fraction_static"),
    "vllm EngineArgs; sglang ServerArgs",
)

SHM_BROADCAST = Message(
    "engine-shm-broadcast-wait",
    r"No available (?:shared memory broadcast )?block found in \d+ seconds?",
    ("No available block found", "No available shared memory broadcast block"),
    "vllm/distributed/device_communicators/shm_broadcast.py (0.4 to 0.33; run on 0.32)",
)
RPC_TIMEOUT = Message(
    "engine-rpc-timeout",
    r"RPC call to \w+ timed out|execute_model timed out|sample_tokens timed out",
    ("timed out",),
    "vllm/v1/executor/multiproc_executor.py (run on 0.32)",
)
READY = Message(
    "engine-ready-line",
    r"Application startup complete\.|The server is fired up and ready to roll",
    ("Application startup complete", "fired up and ready"),
    "uvicorn, as vLLM runs it; sglang/srt/entrypoints/http_server.py",
)
STARTED_FURTHER = Message(
    "engine-started-further",
    r"Loading weights took|Model loading took|torch\.compile (?:takes|took)|Graph capturing finished|"
    r"init engine \(profile.*took|Avg generation throughput: (?!0\.0 )",
    (
        "Loading weights took",
        "Model loading took",
        "torch.compile t",
        "Graph capturing finished",
        "init engine (profile",
        "Avg generation throughput",
    ),
    "vllm model_loader/default_loader.py, gpu_model_runner.py, metrics/loggers.py (0.8 to 0.33)",
)
ENGINE_CORE_FAILED = Message(
    "engine-core-failed",
    r"Engine core initialization failed|EngineDeadError|EngineCore (?:failed to start|encountered a fatal error)|"
    r"Received sigquit from a child process|Engine process failed to start",
    ("Engine core initialization failed", "EngineDeadError", "EngineCore", "Received sigquit", "Engine process failed"),
    "vllm/v1/engine/utils.py; sglang/srt/entrypoints/engine.py (run on 0.32 and 0.5.23)",
)
SHUTDOWN = Message(
    "engine-shutdown",
    r"\[shutdown\] API server: shutdown triggered|Shutting down|Application shutdown complete|Received signal (?:2|15)\b",
    ("shutdown triggered", "Shutting down", "Application shutdown complete", "Received signal"),
    "vllm/entrypoints/launcher.py (run on 0.32); uvicorn",
)
NCCL_BANNER = Message(
    "engine-nccl-banner",
    r"vLLM is using nccl==(?P<version>[\d.]+)|sglang is using nccl==(?P<version2>[\d.]+)",
    ("is using nccl==",),
    "vllm and sglang pynccl.py",
)
IPC_INVALID = Message(
    "engine-ipc-invalid-argument",
    r"custom_all_reduce\S*[:\s].{0,80}invalid argument|cudaIpcGetMemHandle.{0,80}invalid|"
    r"RuntimeError: (?:CUDA error: )?invalid argument|get_graph_buffer_ipc_meta|register_(?:graph_)?buffers?.{0,60}invalid",
    (
        *("invalid argument", "cudaIpcGetMemHandle", "get_graph_buffer_ipc_meta"),
        *("register_buffer", "register_graph_buffer"),
    ),
    "vllm csrc/custom_all_reduce.cuh; vllm#42609, #49101",
)
FORK = Message(
    "engine-fork-after-cuda",
    r"Cannot re-initialize CUDA in forked subprocess",
    ("Cannot re-initialize CUDA",),
    "torch/cuda/__init__.py _lazy_init",
)
PORT_IN_USE = Message(
    "engine-port-in-use",
    r"(?:Errno 98\]|error while attempting to bind|\bbind(?:\(\)|:)|Bind for|failed to bind\b|listen tcp\S*|EADDRINUSE|"
    r"port \d+).{0,120}"
    r"(?:address already in use|port is already allocated|already in use)|"
    r"OSError: \[Errno 98\]|ZMQError: Address already in use|Ports? are not available|\bEADDRINUSE\b",
    (
        "already in use",
        "already allocated",
        "Errno 98",
        "Ports are not available",
        "Port is not available",
        "EADDRINUSE",
    ),
    "CPython errno 98; uvicorn server.py; dockerd portallocator (run on vLLM 0.32); torch TCPStore; libuv",
)
PREEMPTED = Message(
    "engine-preempted",
    r"is preempted by PreemptionMode\.(?:RECOMPUTE|SWAP)|KV cache pool is full\. Retract requests",
    ("preempted by PreemptionMode", "Retract requests"),
    "vllm/core/scheduler.py (0.4 to 0.10); sglang/srt/managers/scheduler.py",
)
TOKENS_COME = Message(
    "engine-tokens-come",
    r"Avg generation throughput: (?!0\.0 )\d|gen throughput \(token/s\): (?!0\.0{1,2}\b)\d",
    ("Avg generation throughput", "gen throughput"),
    "vllm metrics/loggers.py (0.4 to 0.33); sglang scheduler_metrics_mixin.py",
)
BAD_FLAG = Message(
    "engine-bad-flag",
    r"(?:(?:vllm|sglang|launch_server\.py|api_server\.py|lmdeploy)\b.{0,40}: error: |"
    r"ValueError: (?=With `vllm serve`, you should provide the model as a positional))(?P<what>.+)",
    (": error:", "ValueError: With `vllm serve`"),
    "argparse, exit status 2 (run on vLLM 0.32 and SGLang 0.5.23); vllm/utils.py FlexibleArgumentParser (0.8), which only "
    "warns of it since 0.10",
)
CONTEXT_TOO_LONG = Message(
    "engine-context-too-long",
    r"User-specified (?:max_model_len|context_length) \((?P<wanted>\d+)\) is greater than the derived \S+ ?\(?.*?(?P<limit>\d{3,})",
    ("is greater than the derived",),
    "vllm/config/model.py; sglang model_config.py (run on 0.32 and 0.5.23)",
)
FREE_MEMORY_SHORT = Message(
    "engine-free-memory-short",
    r"Free memory on device.{0,80} on startup is less than desired GPU memory utilization",
    ("less than desired GPU memory utilization",),
    "vllm/v1/worker/gpu_worker.py (0.9 to 0.33) request_memory",
)
NO_GPU_FOUND = Message(
    "engine-no-gpu-found",
    r"no compatible GPUs were discovered",
    ("no compatible GPUs",),
    "ollama discover/gpu.go (0.3 to 0.12); ollama/ollama#7669, #10204",
)
OTHER_ENGINE = Message(
    "engine-of-another-kind",
    r"\[TensorRT-LLM\]\[|\[TRT-LLM\]|\btext_generation_(?:launcher|router)\b",
    ("[TensorRT-LLM]", "[TRT-LLM]", "text_generation_"),
    "TensorRT-LLM's loggers in C++ and Python; text-generation-inference: nothing here reads whether they serve",
)
