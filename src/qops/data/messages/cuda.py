"""Messages of CUDA, of its compilers and kernels, and of programs that report their errors."""

from qops.evidence.message import Message


def _result(code: int) -> tuple[str, tuple[str, ...]]:
    """Return a pattern, and its literals, for a CUDA result that is given as a number.

    torch prints `Error 803: …` and `cuInit()=803`, the CUDA samples `code=803(…)`, others `returned 803`, `[803] Call`.
    """
    forms: tuple[str, ...] = (
        *(f"error {code}", f"error={code}", f"error ({code})"),
        *(f"code={code}", f"code {code}", f"cuInit()={code}"),
    )
    forms += (f"returned {code}", f"[{code}] Call", f"failure {code} ", f"failure: {code}")
    words = rf"(?:error|code|returned|cuInit\(\)|failure:?)[ =(]{{1,2}}{code}(?!\d)|\[{code}\] Call"
    return words, forms


def _error(name: str, code: int, text: str, literals: tuple[str, ...], origin: str) -> Message:
    pattern, forms = _result(code)
    return Message(name, f"{text}|{pattern}", literals + forms, origin)


NO_VISIBLE_GPU = Message(
    "cuda-no-visible-gpu",
    r"No CUDA GPUs are available|CUDA_ERROR_NO_DEVICE|cudaErrorNoDevice|no CUDA-capable device is detected",
    ("No CUDA GPUs are available", "CUDA_ERROR_NO_DEVICE", "cudaErrorNoDevice", "no CUDA-capable device"),
    "torch/cuda/__init__.py _lazy_init (2.11, run); driver_types.h cudaErrorNoDevice",
)
DEVICE_NOT_INFERRED = Message(
    "cuda-device-not-inferred",
    r"Failed to infer device type|No supported device detected|No CUDA runtime is found",
    ("Failed to infer device type", "No supported device detected", "No CUDA runtime is found"),
    "vllm/config/device.py (0.3 to 0.33); torch/utils/cpp_extension.py",
)
VISIBLE_DEVICES = Message(
    "cuda-visible-devices",
    r"(?<![A-Z_])(?P<name>CUDA|NVIDIA)_VISIBLE_DEVICES['\"]?\s*[=:]\s*['\"]?(?P<value>[\w,.:/-]*)",
    ("_VISIBLE_DEVICES",),
    "a shell, a compose file, docker inspect",
)

# --- results of the driver and of the runtime (driver_types.h, cuda.h, CUDA 13.0) ---
STUB_LIBRARY = _error(
    "cuda-stub-library",
    34,
    r"CUDA driver is a stub library|cudaErrorStubLibrary|CUDA_ERROR_STUB_LIBRARY",
    ("stub library", "StubLibrary", "STUB_LIBRARY"),
    "driver_types.h; numba/numba#9732, NVIDIA/warp#219, NVIDIA/cutlass#1636",
)
DRIVER_TOO_OLD = _error(
    "cuda-driver-too-old",
    35,
    r"NVIDIA driver on your system is too old(?: \(found version (?P<found>\d+)\))?"
    r"|CUDA driver version is insufficient for CUDA runtime version|cudaErrorInsufficientDriver|old CUDA driver detected"
    r"|unsupported CUDA version: driver [\d.]+ < image [\d.]+",
    (
        "driver on your system is too old",
        "driver version is insufficient",
        "InsufficientDriver",
        "old CUDA driver",
        "unsupported CUDA version",
    ),
    "torch/cuda/__init__.py _check_driver; driver_types.h",
)
IMAGE_REQUIREMENT = Message(
    "cuda-image-requirement",
    r"unsatisfied condition: (?P<condition>[\w]+\s*[<>=!]+\s*[\w.]+)",
    ("unsatisfied condition",),
    "libnvidia-container src/cli/configure.c; vllm-project/vllm#5635",
)
DRIVER_NOT_DETECTED = Message(
    "cuda-driver-not-detected",
    r"The NVIDIA Driver was not detected\.\s+GPU functionality will not be available",
    ("NVIDIA Driver was not detected",),
    "entry script of the vendor's images, first check (2020 to 2026)",
)
CONTAINER_NEEDS_DRIVER = Message(
    "cuda-container-needs-driver",
    r"(?:but |^[|\s\w-]*)version\s+(?P<driver>[\d.]+) was detected and compatibility mode is UNAVAILABLE",
    ("compatibility mode is UNAVAILABLE",),
    "entry script of the vendor's images, third check (seen with 430.26, 418.126.02, 580.159.03)",
)
NEWER_DRIVER_CALL = _error(
    "cuda-call-requires-newer-driver",
    36,
    r"API call is not supported in the installed CUDA driver|cudaErrorCallRequiresNewerDriver",
    ("not supported in the installed CUDA driver", "CallRequiresNewerDriver"),
    "driver_types.h",
)
UNSUPPORTED_PTX = _error(
    "cuda-unsupported-ptx",
    222,
    r"provided PTX was compiled with an unsupported toolchain|cudaErrorUnsupportedPtxVersion"
    r"|CUDA_ERROR_UNSUPPORTED_PTX_VERSION|ptxas application ptx input.{0,40}Unsupported \.version",  # the driver's own
    ("unsupported toolchain", "UnsupportedPtxVersion", "UNSUPPORTED_PTX_VERSION", "application ptx input"),
    "driver_types.h; vllm-project/vllm#31700",
)
SYSTEM_NOT_READY = _error(
    "cuda-system-not-ready",
    802,
    r"system not yet initialized|cudaErrorSystemNotReady|CUDA_ERROR_SYSTEM_NOT_READY",
    ("system not yet initialized", "SystemNotReady", "SYSTEM_NOT_READY"),
    "driver_types.h; pytorch/pytorch#35710, wilicc/gpu-burn#92",
)
DRIVER_MISMATCH = _error(
    "cuda-driver-mismatch",
    803,
    r"unsupported display driver ?/ ?cuda driver combination|cudaErrorSystemDriverMismatch"
    r"|CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
    ("cuda driver combination", "SystemDriverMismatch", "SYSTEM_DRIVER_MISMATCH"),
    "driver_types.h; gpustack/gpustack#4678",
)
COMPAT_UNSUPPORTED = _error(
    "cuda-compat-unsupported",
    804,
    r"forward compatibility was attempted on non[- ]supported (?:HW|hardware)|cudaErrorCompatNotSupportedOnDevice"
    r"|CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
    ("forward compatibility was attempted", "CompatNotSupportedOnDevice", "COMPAT_NOT_SUPPORTED_ON_DEVICE"),
    "driver_types.h; vllm-project/vllm#4940",
)
NO_KERNEL_IMAGE = _error(
    "cuda-no-kernel-image",
    209,
    r"no kernel image is available for execution|cudaErrorNoKernelImageForDevice|CUDA_ERROR_NO_BINARY_FOR_GPU"
    r"|CUDA capability sm_\w+ is not compatible with the current PyTorch|no device code compatible with CUDA arch"
    r"|PyTorch no longer supports this GPU because it is too old"
    r"|(?:is for sm\d+-sm\d+|requires building with sm version \S{1,20}), but was built for "
    r"|No compiled \w+ (?:kernel )?for (?:a compute capability|CUDA device|SM)",
    (
        "no kernel image",
        "NoKernelImageForDevice",
        "NO_BINARY_FOR_GPU",
        "is not compatible with the current PyTorch",
        "no longer supports this GPU",
        "but was built for",
        "no device code compatible",
        "No compiled ",
    ),
    "driver_types.h; torch/cuda/__init__.py _check_capability; ggml-cuda common.cuh; vllm csrc scaled_mm_entry.cu; "
    "torch and xformers kernel_forward.h; flash-attn flash_fwd_launch_template.h",
)
CAPABILITY_FOUND = Message(
    "cuda-capability-found",
    r"Found GPU\d+ .{1,80} which is of cuda capability (?P<major>\d+)\.(?P<minor>\d+)",
    ("which is of cuda capability",),
    "torch/cuda/__init__.py _check_capability",
)
CAPABILITY_RANGE = Message(
    "cuda-capability-range",
    r"(?:^|supported by this version of PyTorch is|\))\s*\((?P<least>\d+\.\d+)\) - \((?P<most>\d+\.\d+)\)",
    (") - (",),
    "torch/cuda/__init__.py _check_capability (2.8 and later): minimum and maximum",
)
ILLEGAL_ACCESS = _error(
    "cuda-illegal-access",
    700,
    r"illegal memory access|cudaErrorIllegalAddress|CUDA_ERROR_ILLEGAL_ADDRESS|misaligned address"
    r"|an illegal instruction was encountered|cudaErrorMisalignedAddress|CUDA_ERROR_MISALIGNED_ADDRESS",
    (
        "illegal memory access",
        "ErrorIllegalAddress",
        "ILLEGAL_ADDRESS",
        "misaligned address",
        "illegal instruction was",
        "MisalignedAddress",
        "MISALIGNED_ADDRESS",
    ),
    "driver_types.h; torch 2.11 (run)",
)
ECC_UNCORRECTABLE = _error(
    "cuda-ecc-uncorrectable",
    214,
    r"uncorrectable ECC error|cudaErrorECCUncorrectable|CUDA_ERROR_ECC_UNCORRECTABLE",
    ("uncorrectable ", "ECCUncorrectable", "ECC_UNCORRECTABLE"),
    "driver_types.h cudaErrorECCUncorrectable",
)
DSO_MISMATCH = Message(
    "cuda-dso-mismatch",
    r"kernel version (?P<module>[\d.]+) does not match DSO version (?P<library>[\d.]+)",
    ("does not match DSO version",),
    "tensorflow and XLA stream_executor/cuda/cuda_diagnostics.cc; tensorflow/tensorflow#1158, jax-ml/jax#11477",
)
CUDA_ERROR = Message(
    "cuda-error",
    r"CUDA(?: runtime| driver|Runtime)? error ?[:(]|CUDA_ERROR_[A-Z]\w+|\bcudaError(?!t\b|_t\b|_enum\b)[A-Z]\w+"
    r"|CUDA out of memory|unspecified launch (?:failure|timeout)|CUDA failure \d+|CUDA unknown error"
    r"|device-side assert triggered|CUBLAS_STATUS_(?!SUCCESS)[A-Z]\w+|CUDNN_STATUS_(?!SUCCESS)[A-Z]\w+"
    r"|Unexpected error from cudaGetDeviceCount",
    (
        "CUDA error",
        "cuda runtime error",
        "cuda driver error",
        "cudaruntime error",
        "CUDA_ERROR_",
        "cudaError",
        "CUDA out of memory",
        "unspecified launch",
        "CUDA failure",
        "CUDA unknown error",
        "device-side assert",
        "CUBLAS_STATUS_",
        "CUDNN_STATUS_",
        "error from cudaGetDeviceCount",
    ),
    "torch c10/cuda/CUDAException.cpp; CUDA samples helper_cuda.h; ggml-cuda; NCCL WARN Cuda failure",
)
ALLOCATION = Message(
    "cuda-allocation",
    r"Tried to allocate (?P<asked>[\d.]+) (?P<asked_unit>[KMGT]iB)\. GPU (?P<gpu>\d+) has a total "
    r"capac(?:ity|ty) of (?P<total>[\d.]+) (?P<total_unit>[KMGT]iB)",
    ("has a total capac",),
    "torch c10/cuda/CUDACachingAllocator.cpp (2.11, run; 2.1 spelt it `capacty`)",
)

# --- architectures and compilers ---
COMPILER_MISSING = Message(
    "cuda-compiler-missing",
    r"Could not find nvcc|(?<!bash: )(?<!zsh: )(?:nvcc|ninja): (?:command )?not found|No such file or directory: '[^']*\bnvcc'"
    r"|/nvcc: (?:No such file|not found)|Ninja is required to load C\+\+ extensions"
    r"|No such file or directory: '(?:[^']*/)?ninja'|CUDA_HOME (?:environment variable is not set|does not exist, unable to compile)"
    r"|Failed to find C compiler|(?:nvcc|ninja)\b.{0,40}(?:executable|binary) (?:was )?not found|Error: NVCC not found"
    r"|cannot find CUDA_HOME|[Nn]o (?:CUDA|C\+\+|C) compiler (?:was )?found|fatal error: Python\.h: No such file"
    r"|No such file or directory: '(?:[^']*/)?(?:gcc|g\+\+|cc|c\+\+)'|unable to find a (?:CUDA|C) compiler",
    (
        "nvcc",
        "Ninja is required",
        "ninja",
        "CUDA_HOME environment variable is not set",
        "CUDA_HOME does not exist",
        "Failed to find C compiler",
        "cannot find CUDA_HOME",
        "compiler found",
        "compiler was found",
        "Python.h",
        "No such file or directory: '",
        "unable to find a",
    ),
    "flashinfer/jit/cpp_ext.py; torch/utils/cpp_extension.py; triton/runtime/build.py",
)
SPECULATIVE = Message(
    "cuda-speculative",
    r"--speculative[-_](?:config|algo\w*|num|draft|model|eagle)|num_speculative_tokens['\"]?\s*[=:]\s*[1-9]"
    r"|speculative_config['\"]?\s*[=:]\s*(?!['\"]?(?:None|null)\b)[\w{'\"]|SpeculativeConfig\("
    r"|speculative_algorithm['\"]?\s*[=:]\s*['\"]?(?!None|null)[A-Z]|\bMTP\b ?(?:k ?=|=|num)\s*\d"
    r"|File \"\S{0,200}/(?:speculative|spec_decode)/\w+\.py\", line \d+|SpecDecoding metrics:|\baccept len: \d"
    r"|--(?:spec-type|model-draft|draft-(?:max|min|n))[ =]\w|llama-(?:server|cli)\b.{0,400} -md \S",
    (
        "speculative",
        "MTP",
        "/spec_decode/",
        "SpecDecoding",
        "accept len:",
        "--spec-type",
        "-draft",
        "--draft-",
        " -md ",
    ),
    "command lines of vllm, sglang and llama.cpp; vllm v1/engine/core.py prints speculative_config=None when it is "
    "off; vllm v1/spec_decode/metrics.py; sglang metrics of a decode batch",
)
COMPAT_PATH = Message(
    "cuda-compat-path",
    r"(?P<path>/[\w./+-]{0,120}/compat(?:/[\w.-]{0,60})?/libcuda\.so[\d.]*)|LD_LIBRARY_PATH=\S{0,200}(?P<folder>/cuda[\w.-]*/compat)"
    r"|^\s*(?P<conf>/usr/local/cuda\S*/compat)/?\s*$",
    ("/compat",),
    "cuda-compat packages; ld.so.conf.d of CUDA images",
)
STUB_PATH = Message(
    "cuda-stub-path",
    r"(?:LD_LIBRARY_PATH['\"]?[=:] ?\S{0,200}?|=> ?|^\s*)(?P<path>/[\w./+-]{0,120}/stubs)(?:/libcuda\.so|[:/\s]|$)",
    ("/stubs",),
    "toolkit folders lib64/stubs and targets/*/lib/stubs; numba/numba#9732",
)
