"""Messages about the kernel backends that an engine picks, and about what comes out of them."""

from qops.evidence.message import Message

BACKEND_GARBAGE = Message(
    "cuda-backend-garbage",
    r"\b(?P<backend>cutlass|cudnn|trtllm|flashinfer\w*|marlin|b12x|flashmla|flash_attn|fa[234]|deep_?gemm|triton|"
    r"machete|cublas(?:lt)?|qutlass|xqa|mm_fp4|cute_?dsl)\b(?!.{0,100}\b(?:no longer|fixed|instead of"
    r"|isnan)\b).{0,100}?"
    r"(?:\ball[- ](?:zeros?|nans?)\b|\b(?:returns?|gives?|gave|produces?|yields?|outputs?) (?:all |silently )?(?:zeros?|nans?|garbage|wrong|incorrect)|\b(?:output|result|logits)s? "
    r"(?:is|are|was|were|contains?) (?:all |byte |pure |complete(?:ly)? )?(?:zeros?|nans?|garbage|gibberish|wrong|incorrect)|\bgarbage (?:output|tokens?"
    r"|text)|[:=] ?['\"]?!{8})",
    ("zero", "nan", "garbage", "gibberish", "wrong", "incorrect", "!!!!!!!!"),
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
