"""What took the place of names that went without saying so, or that never were; by engine and name.

The releases' own deprecations are in `qops.data.engines`. An empty text: nothing did, it is to be left out.
"""

# Read in the sources of the release that dropped each, and the one before.
OPTIONS = {
    ("vllm", "--use-gpu-for-pooling-score"): "--enable-flash-late-interaction",  # 0.18.0, both score late interaction
    ("vllm", "--enable-mamba-fine-grained-prefix-cache"): "--enable-mamba-shared-prefix-checkpoint",
}

VARIABLES = {
    ("vllm", "VLLM_NVFP4_GEMM_BACKEND"): "--linear-backend, and --moe-backend for the experts",
    ("vllm", "VLLM_FLASHINFER_MOE_BACKEND"): "--moe-backend",
    ("vllm", "VLLM_USE_FLASHINFER_MOE_FP4"): "--moe-backend",
    ("vllm", "VLLM_USE_FLASHINFER_MOE_FP8"): "--moe-backend",
    ("vllm", "VLLM_USE_FLASHINFER_MOE_FP16"): "--moe-backend",
    ("vllm", "VLLM_MXFP4_USE_MARLIN"): "--moe-backend marlin",
    ("vllm", "VLLM_SLEEP_WHEN_IDLE"): "",  # 0.18.0 waits without spinning
    ("sglang", "SGLANG_ENABLE_SPEC_V2"): "",  # the default from 0.5.11 on
    ("sglang", "SGLANG_DISABLE_DEEP_GEMM"): "SGLANG_ENABLE_JIT_DEEPGEMM=0",  # in no release from 0.5.9 to 0.5.23
}

# Read by neither engine, nor by the libraries that recipes set them for.
NOBODY = {
    # In no file of vLLM, SGLang 0.5.9 and 0.5.23, safetensors 0.8.0 (its library included) and transformers 5.19.
    "SAFETENSORS_FAST_GPU": "nothing reads it: not vLLM, not SGLang, not safetensors, not transformers",
}
