#!/bin/sh
# SGLang on the CPU of a practice host, with vLLM's Python and torch, and with its stand-in for torchvision.
echo "qops-lab: SGLang's GPU kernels (sgl_kernel) are stand-ins here that compute nothing" >&2
export PYTHONPATH=/opt/sglang/site:/opt/vllm/stubs SGLANG_USE_CPU_ENGINE=1
exec /opt/vllm/bin/python3.11 /opt/sglang/site/bin/sglang "$@"
