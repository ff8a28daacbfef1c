"""Messages about the kernel backends that an engine picks, and about what comes out of them."""

from qops.evidence.message import Message

ASSEMBLER_ARCH = Message(
    "cuda-assembler-arch",
    r"(?:ptxas fatal\s*:|\bptxas\b.{0,40}) ?\s*Value '(?P<arch>sm_\w+)' is not defined|Unsupported gpu architecture '(?P<gpu>\w+)'"
    r"|'(?P<target>sm_\w+)' is not a recognized processor|does not support \.target (?P<ptx>sm_\w+)"
    r"|Unknown CUDA arch \((?P<torch>[\d.]+a?)\)|SM [\d.]+x? requires CUDA >= ?(?P<needs>[\d.]+)"
    r"|invalid value for --gpu-architecture|(?:nvcc|nvrtc)\b.{0,40}unsupported (?:gpu )?arch\w*\b(?! ')"
    r"|No supported CUDA architectures found for major versions \[[^\]]*1[12][^\]]*\]"
    r"|^(?!.*application ptx input).*(?:Unsupported \.version (?P<isa>[\d.]+); current version is '[\d.]+'"
    r"|Feature '[^']{1,80}' requires PTX ISA \.version (?P<asks>[\d.]+) or later)",
    (
        "ptxas",
        "Unsupported gpu architecture",
        "is not a recognized processor",
        "does not support .target",
        "Unknown CUDA arch",
        "requires CUDA >=",
        "Unsupported .version",
        "requires PTX ISA",
        "--gpu-architecture",
        "unsupported arch",
        "unsupported gpu arch",
        "No supported CUDA architectures found",
    ),
    "vllm-project/vllm#32575, triton-lang/triton#10331; nvcc 12.x; flashinfer/compilation_context.py; "
    "torch/utils/cpp_extension.py; triton-lang/triton#3899, ggml-org/llama.cpp#22069",
)
ARCH_UNSUPPORTED = Message(
    "cuda-backend-unsupported",
    r"(?:\.cuh?|\.hpp|\.py|Runner|flashinfer|trtllm|deep_?gemm|gemm|fmha)\W.{0,80}unsupported (?:sm "
    r"|gpu )?architecture"
    r"|does not support backend '?(?P<backend>\w+)'? with capability \d+|kernel does not support (?:the )?current device"
    r"|FlashAttention(?:-?\d)? only supports \w+ GPUs?|(?:FA ?3|FA ?4|FlashMLA|FlashAttention v?[34]|Flash ?Infer)\b"
    r".{0,60}(?:only supported|not supported|unsupported|requires)\W.{0,60}(?:Hopper|Blackwell|Ampere|SM|capability"
    r"|GPU|arch)"
    r"|(?:only supported|only supports|only works) on (?:GPUs? with )?(?:Hopper|Blackwell|Ampere|SM ?\d+|sm_\d+|compute capability)"
    r"|Error: (?:Unsupported architecture\b|Only supports? sm_?\d+)|requires (?:SM|sm_) ?[<>=]+ ?\d+"
    r"|requires (?:compute|device) capability (?:of )?[\d.]+ but\b|\bSM_?\d+ \(or newer\) only|(?:backend|kernel)s?\b.{0,60}(?:not supported|unsupported|not implemented|"
    r"unavailable) (?:on|for|with) (?:this |the current )?(?:GPU|device|arch|SM|sm_|compute cap|capab|CUDA cap)"
    r"|(?:Feature|Instruction) '[^']{1,80}' (?:is )?not supported on \.target 'sm_\w+'"
    r"|^(?!.*tmpxft).*Feature '[^']{1,80}' requires \.target sm_\w+ or higher"
    r"|\btype \w+ not supported in this architecture|\bMoE is unsupported on SM ?\d"
    r"|compute capability not supported|(?:backend|attention|FlashInfer)\b.{0,40}does not support attention sinks"
    r"|(?:only supports?|is only available on) (?:SM|sm_) ?\d{2,3}[af]? (?:arch|GPU|device)|is not supported for [ ',\"]{0,8}the current GPU\. Min(?:imum)? capability: \d+"
    r"|capability below [\d.]+ (?:is|are) not supported|\bOnly \S.{1,80} backends? (?:is|are) supported on (?:Hopper|Blackwell|Ampere|SM|sm_)"
    r"|requires device with capability .{1,20} but your GPU has capability"
    r"|compute capability [\d.x]+ (?:or (?:higher|newer) )?(?:is )?required for\b"
    r"|\bassert (?:not )?(?:\w+\.)?is_(?:sm_?\d{2,3}|hopper|blackwell)\w*\("
    r"|requires (?:an? |the )?(?:\w+ )?(?:Hopper|Blackwell|Ampere|Ada)\b"
    r"|Arch conditional MMA instruction used without targeting|no kernels? .{0,40}\b(?:for )?(?:sm|SM)_?1[0-2]\d"
    r"|No supported CUDA architectures found for major versions \[(?:9|10|9, 10)\]"
    r"|No (?:valid|suitable) attention backend found|Failed to initialize (?:the )?cutlass TMA",
    (
        "unsupported architecture",
        "unsupported gpu architecture",
        "unsupported sm architecture",
        "does not support backend",
        "does not support current device",
        "does not support the current device",
        "only support",
        "only works on",
        "is only available on",
        *(
            f"{refused} {of}"
            for refused in ("not supported", "unsupported", "not implemented", "unavailable")
            for of in ("on", "for", "with")
        ),
        "does not support attention sinks",
        "requires .target sm_",
        "not supported in this architecture",
        "requires sm",
        "requires compute capability",
        "requires device capability",
        "(or newer) only",
        "FA3",
        "FA 3",
        "FA4",
        "FA 4",
        "FlashMLA",
        "FlashAttention",
        "FlashInfer",
        "Flash Infer",
        "compute capability not supported",
        "Min capability",
        "Minimum capability",
        "capability below",
        "required for",
        "requires device with capability",
        "assert is_",
        "assert not is_",
        "backends are supported on",
        "backend is supported on",
        *(f"requires {of}" for of in ("a ", "an ", "the ", "Hopper", "Blackwell", "Ampere", "Ada")),
        "Arch conditional MMA",
        "no kernel",
        "attention backend found",
        "No supported CUDA architectures found",
        "cutlass TMA",
    ),
    "flashinfer fmhaRunner.cuh and utils.py; flash-attn flash_api.cpp; vllm flash_attn_interface.py, "
    "attention/selector; sglang server_args.py; CUTLASS mma_sm90/sm100",
)
BACKEND_GARBAGE = Message(
    "cuda-backend-garbage",
    r"\b(?P<backend>cutlass|cudnn|trtllm|flashinfer\w*|marlin|b12x|flashmla|flash_attn|fa[234]|deep_?gemm|triton|"
    r"machete|cublas(?:lt)?|qutlass|xqa|mm_fp4|cute_?dsl)\b(?!.{0,100}\b(?:no longer|fixed|instead of"
    r"|isnan)\b).{0,100}?"
    r"(?:\ball[- ](?:zeros?|nans?)\b|\b(?:returns?|gives?|gave|produces?|yields?|outputs?) (?:all |silently )?(?:zeros?|nans?|garbage|wrong|incorrect)|\b(?:output|result|logits)s? "
    r"(?:is|are|was|were|contains?) (?:all |byte |pure |complete(?:ly)? )?(?:zeros?|nans?|garbage|gibberish|wrong|incorrect)|\bgarbage (?:output|tokens?"
    r"|text)|[:=] ?['\"]?!{8})",
    (" zero", "-zero", " nan", "-nan", "garbage", " gibberish", " wrong", " incorrect", "!!!!!!!!"),
    "flashinfer-ai/flashinfer#3398, #1646; vllm-project/vllm#48898",
)
LOW_PRECISION_BACKEND = Message(
    "cuda-low-precision-backend",
    r"Using (?:FlashInfer|'?FLASHINFER|Cutlass|VLLM_CUTLASS|'?CUTLASS|TRTLLM|Marlin|cuDNN|DeepGEMM)[\w']{0,60}.{0,60}"
    r"\b(?:NvFp4|MxFp4|FP4|FP8)\b|--(?:moe|linear)[-_](?:runner[-_])?backend[ =](?P<backend>[\w-]{2,40})"
    r"|VLLM_NVFP4_GEMM_BACKEND=(?P<gemm>[\w-]{2,40})",
    ("FP4", "FP8", "-backend", "_backend", "VLLM_NVFP4_GEMM_BACKEND"),
    "vllm quantization/utils/nvfp4_utils.py, fused_moe/oracle (0.11 to 0.29); sglang server_args.py",
)
OTHER_BACKEND_WORKS = Message(
    "cuda-other-backend-works",
    r"\b(?:marlin|triton|eager|cutlass|flashinfer|trtllm|emulation)\b.{0,80}\b(?:coherent|correct|works?|fine|right)\b",
    ("marlin", "triton", "eager", "cutlass", "flashinfer", "trtllm", "emulation"),
    "how people compare two backends: vllm-project/vllm#48898, NVIDIA/cutlass#3096, #3227",
)
CONSUMER_BLACKWELL = Message(
    "cuda-consumer-blackwell",
    r"\bsm_?12[01][af]?\b|compute capability 12\.[01]|RTX (?:PRO \d000 Blackwell|50[5-9]0|6000D)|\bGB10\b",
    ("sm12", "sm_12", "capability 12.", "Blackwell", "RTX 50", "6000D", "GB10"),
    "names that nvidia-smi and torch print for compute capability 12.x",
)
