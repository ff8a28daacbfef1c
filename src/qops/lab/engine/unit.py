"""What a host with an engine has of it: the unit, its settings and the command that the lab drives it with."""

from pathlib import Path

from qops.lab.engine.layer import VLLM

PORT = 8000
SERVED = "tiny"  # the model's name on the API, whichever model it is
PROGRAM = "/opt/qops-lab/engine"
COMMAND = "/usr/local/bin/qops-lab-engine"
UNIT_FILE = "/etc/systemd/system/vllm.service"

# --enforce-eager, and no TorchDynamo: compiling takes half a minute, and a compiler that practice hosts have not.
# The share of the memory is checked at the start against what is free; the cache has VLLM_CPU_KVCACHE_SPACE GiB.
# Two ranks on two cores cannot be bound to a NUMA node each. A hang stays for an hour, so that one can look at it:
# vLLM's own limit is 300 s. Restart=no, so that what a fault did stays to be seen; a unit for real use restarts.
UNIT = f"""[Unit]
Description=qops-lab engine: the real vLLM {VLLM.version}, on the CPU, with a tiny model of random weights
Documentation=file:/etc/motd
After=network-online.target
AssertPathExists={VLLM.mount}/whole

[Service]
Type=exec
Environment=MODEL={VLLM.mount}/models/tiny-qwen3
Environment=TENSOR_PARALLEL=1
Environment=MAX_MODEL_LEN=4096
Environment=EXTRA_FLAGS=
Environment=HOME=/var/lib/vllm
Environment=HF_HUB_OFFLINE=1
Environment=VLLM_NO_USAGE_STATS=1
Environment=VLLM_CPU_KVCACHE_SPACE=1
Environment=VLLM_CPU_OMP_THREADS_BIND=nobind
Environment=OMP_NUM_THREADS=1
Environment=VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=3600
Environment=TORCHDYNAMO_DISABLE=1
Environment=PYTHONDONTWRITEBYTECODE=1
ExecStart={VLLM.mount}/bin/vllm serve ${{MODEL}} --served-model-name {SERVED} --port {PORT} --enforce-eager \\
  --tensor-parallel-size ${{TENSOR_PARALLEL}} --max-model-len ${{MAX_MODEL_LEN}} --gpu-memory-utilization 0.2 \\
  --max-num-seqs 8 $EXTRA_FLAGS
StateDirectory=vllm
WorkingDirectory=/var/lib/vllm
Restart=no
KillMode=control-group
TimeoutStopSec=20

[Install]
WantedBy=multi-user.target
"""


def script() -> bytes:
    """Return the program that starts, stops and asks the engine of a host."""
    return (Path(__file__).parent / "engine.sh").read_bytes()
