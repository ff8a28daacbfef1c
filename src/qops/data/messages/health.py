"""What programs print where all is well: signs of health, and that a thing does not hold now."""

from qops.evidence.message import Message

THERMAL_INACTIVE = Message(
    "health-thermal-inactive",
    r"[HS]W Thermal Slowdown\s*:\s*Not Active",
    ("Thermal Slowdown",),
    "nvidia-smi -q -d PERFORMANCE",
)
IDLE_STATE = Message(
    "health-idle-state",
    r"Performance State\s*:\s*P8\b|^\s*Idle {2,60}: Active",
    ("Performance State", "Idle  "),
    "nvidia-smi -q -d PERFORMANCE",
)
PMON = Message(
    "health-pmon",
    r"^\W{0,3}gpu\s+pid\s+type\b",
    ("pid  type", "pid   type"),
    "the header of nvidia-smi pmon, which is printed once the driver answered",
)
UNIT_RUNS = Message(
    "health-unit-runs",
    r"^\s*Active: active \(running\)",
    ("Active: active",),
    "systemctl status",
)
GPU_UNIT = Message(
    "health-gpu-unit",
    r"^\W{0,4}(?P<unit>(?:nvidia-(?:fabricmanager|persistenced|imex|dcgm)|docker|containerd)\.service) - ",
    (".service - ",),
    "systemctl status: the first line",
)
GPU_RUNTIME = Message(
    "health-gpu-runtime",
    r"^\s*Runtimes:(?: \S{1,60}){0,8} nvidia\b",
    ("Runtimes:",),
    "docker info 20 to 29",
)
DIAGNOSED = Message(
    "health-diagnosed",
    r"Successfully ran diagnostic for group",
    ("Successfully ran diagnostic",),
    "dcgmi diag 2.4 to 4.5",
)
DIAGNOSIS_PASS = Message(
    "health-diagnosis-pass",
    r"^\|\s*[\w/ -]{2,40}\| Pass\b",
    ("| Pass",),
    "dcgmi diag 2.4 to 4.5",
)
DIAGNOSIS_OTHER = Message(
    "health-diagnosis-other",
    r"^\|\s*[\w/ -]{0,40}\| (?:Fail|Warn|Error)",
    ("| Fail", "| Warn", "| Error"),
    "dcgmi diag 2.4 to 4.5",
)
TORCH_SEES_CUDA = Message(
    "health-torch-sees-cuda",
    r"^\s*(?:Is )?CUDA available\s*:\s*True\b",
    ("CUDA available",),
    "torch/utils/collect_env.py, vllm collect_env.py, sglang check_env.py",
)
NCCL_DESTROYED = Message(
    "health-nccl-destroyed",
    r"NCCL INFO comm 0x[0-9a-f]{1,16} rank \d{1,6} nranks \d{1,6} .{0,80}- Destroy COMPLETE",
    ("Destroy COMPLETE",),
    "NCCL src/init.cc commDestroySync, 2.8 to 2.30; NVIDIA/nccl-tests#182",
)
NCCL_ABORTED = Message(
    "health-nccl-aborted",
    r"NCCL INFO comm 0x[0-9a-f]{1,16} rank \d{1,6} nranks \d{1,6} .{0,80}- Abort COMPLETE",
    ("Abort COMPLETE",),
    "NCCL src/init.cc",
)
