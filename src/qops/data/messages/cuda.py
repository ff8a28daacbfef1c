"""Messages of CUDA, and of programs that report its errors."""

from qops.evidence.message import Message

NO_VISIBLE_GPU = Message(
    "cuda-no-visible-gpu",
    r"No CUDA GPUs are available|CUDA_ERROR_NO_DEVICE|no CUDA-capable device is detected",
    ("No CUDA GPUs are available", "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device"),
    "torch/cuda/__init__.py _lazy_init (2.11, run); driver_types.h cudaErrorNoDevice",
)
