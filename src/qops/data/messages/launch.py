"""Messages around NCCL: of what starts its ranks (Gloo, Ray), of the engines, and of people who watch them."""

from qops.evidence.message import Message

SHM_FILE = Message(
    "shm-no-space",
    r"^(?=.*(?:/dev/shm|shared memory|shm_open|/torch_|psm_)).*No space left on device",
    ("No space left on device",),
    "errno 28 beside a name in /dev/shm (torch reductions.py, Python shared_memory)",
)
SHM_BUS_ERROR = Message(
    "shm-bus-error",
    r"\bBus error\b.{0,160}?(?:core dumped|shared memory)|killed by signal: Bus error|Signal 7 \(SIGBUS\)|\bSIGBUS\b|"
    r"Fatal Python error: Bus error|\bexitcode\s{0,12}: -7\b",
    ("Bus error", "SIGBUS", "exitcode"),
    "torch/utils/data/_utils/signal_handling.py; bash; torch elastic; CPython faulthandler",
)
GLOO_LOOPBACK = Message(
    "gloo-loopback-fallback",
    r"Unable to resolve hostname to a \(local\) address",
    ("Unable to resolve hostname to a (local) address",),
    "torch ProcessGroupGloo.cpp createDefaultDevice",
)
GLOO_CONNECT_LOOPBACK = Message(
    "gloo-connect-loopback",
    r"remote=\[?(?P<address>127\.\d+\.\d+\.\d+|::1|::ffff:127\.[\d.]+)\]?",
    ("remote=",),
    "gloo transport/tcp/pair.cc: `timed out connecting: …, remote=[…]:port`",
)
GLOO_REFUSED_BY_ITSELF = Message(
    "gloo-refused-by-itself",
    r"gloo/transport/tcp/pair\.cc:\d{1,5}\] connect \[(?P<address>127\.[\d.]{5,11}|::1)\]:\d{1,5}: Connection refused",
    (": Connection refused",),
    "gloo transport/tcp/pair.cc to 2023 (pytorch/pytorch 15592)",
)
GLOO_PEER = Message(
    "gloo-peer",
    r"(?:timed out connecting|SO_ERROR|Connection refused).{0,120}?remote=\[",
    ("remote=[",),
    "gloo transport/tcp/pair.cc: which peer could not be reached",
)
GLOO_NO_ERROR = Message(
    "gloo-no-error",
    r"Gloo connectFullMesh failed with \[.{1,200}?pair\.cc:\d{1,5}\] no error",
    ("Gloo connectFullMesh failed",),
    "torch ProcessGroupGloo.cpp 2.3 and later, gloo transport/tcp/pair.cc",
)
GLOO_CONNECT_FAILED = Message(
    "gloo-connect-failed",
    r"Gloo connectFullMesh failed",
    ("Gloo connectFullMesh failed",),
    "torch ProcessGroupGloo.cpp",
)
GLOO_NO_INTERFACE = Message(
    "gloo-no-interface",
    r"Unable to find address for:\s*(?P<name>\S+)|ifa != nullptr.{0,120}?Unable to find interface",
    ("Unable to find address for", "Unable to find interface"),
    "gloo transport/tcp/device.cc lookupAddrForIface",
)
RAY_MISMATCH = Message(
    "ray-version-mismatch",
    r"(?P<patch>patch )?version mismatch: The cluster was started with",
    ("version mismatch: The cluster was started with",),
    "ray/_private/utils.py check_version_info",
)
RAY_RAY_VERSION = Message(
    "ray-version-line", r"^[\s|#]*Ray:\s*(?P<version>\d[\w.]*)\s*$", ("Ray:",), "ray/_private/utils.py"
)
RAY_PYTHON_VERSION = Message(
    "ray-python-line", r"^[\s|#]*Python:\s*(?P<version>\d[\w.]*)\s*$", ("Python:",), "ray/_private/utils.py"
)
FABRIC_MANAGER_START = Message(
    "fabric-manager-restart",
    r"systemctl (?:re)?start nvidia-fabricmanager",
    ("start nvidia-fabricmanager",),
    "a shell's history or a unit's journal",
)
PYNCCL_BANNER = Message(
    "vllm-pynccl-banner",
    r"vLLM is using nccl==(?P<version>\d+\.\d+[\d.]*)",
    ("vLLM is using nccl==",),
    "vllm distributed/device_communicators/pynccl.py",
)
CUSTOM_AR_OFF = Message(
    "custom-allreduce-off",
    r"Custom ?all-?reduce is disabled because",
    ("allreduce is disabled because", "all-reduce is disabled because"),
    "vllm custom_all_reduce.py, sglang custom_all_reduce.py",
)
CUSTOM_AR_SPANS = Message(
    "custom-allreduce-spans-nodes",
    r"Custom ?all-?reduce is disabled because this process group spans across nodes",
    ("spans across nodes",),
    "vllm and sglang custom_all_reduce.py",
)
CUSTOM_AR_ON = Message(
    "custom-allreduce-on",
    r"Registering (?P<count>\d+) cuda graph addresses|custom_all_reduce(?:\.py|\.cuh|_kernel)|cross_device_reduce",
    ("cuda graph addresses", "custom_all_reduce", "cross_device_reduce"),
    "vllm and sglang custom_all_reduce.py (register_graph_buffers), csrc/custom_all_reduce.cuh",
)
CAPTURE_PROGRESS = Message(
    "graph-capture-progress",
    r"Captur(?:e|ing) (?:CUDA graphs?|batches|num tokens|cuda graph)\b.{0,400}?(?P<done>\d+)/(?P<total>\d+)(?!\d)",
    ("Captur",),
    "tqdm bars of vllm gpu_model_runner.py and sglang cuda_graph_runner.py",
)
CAPTURE_BEGIN = Message(
    "graph-capture-begin",
    r"Capture (?:cuda|piecewise cuda) graph begin|Capturing (?:the model for )?CUDA graphs",
    ("graph begin", "CUDA graphs"),
    "sglang cuda_graph_runner.py, vllm gpu_model_runner.py",
)
CAPTURE_END = Message(
    "graph-capture-end",
    r"Capture (?:cuda|piecewise cuda) graph end|Graph capturing finished",
    ("graph end", "Graph capturing finished"),
    "sglang cuda_graph_runner.py, vllm gpu_model_runner.py",
)
NNODES = Message(
    "job-nnodes",
    r"(?:--nnodes|\bnnodes)[ =](?P<nodes>\d{1,4})\b(?!:)",
    ("nnodes",),
    "arguments of sglang.launch_server, vllm serve and torchrun, as typed and as printed",
)
SAID_NODES = Message(
    "said-several-nodes",
    r"\b(?:two|three|four|[2-9]|1[0-9]|32)[ -](?!NUMA)(?:[A-Z]\w{0,8} )?(?:server )?nodes?\b|\bmulti(?:ple)?[ -]?nodes?\b",
    ("node",),
    "people's own words: sglang#3547, vllm#17167",
)
EAGER_WORKS = Message(
    "graph-capture-off-works",
    r"(?:--disable-cuda-graph|enforce[-_]eager)\b.{0,60}?(?<!not )\b(?:works|starts? normally|starts fine|"
    r"problem (?:doesn't|does not) occur|can start normally|no hang|avoids|fixe[sd])\b",
    ("disable-cuda-graph", "enforce-eager", "enforce_eager"),
    "people's own words: sglang#3547, vllm#17167",
)
VGPU_BANNER = Message(
    "vgpu-preload-banner",
    r"\[?(?:HAMI-core|4pdvGPU|HAMi-core)\s+(?:Msg|Warn|Debug|Error)|\blibvgpu\.(?:so|c)\b",
    ("HAMI-core", "4pdvGPU", "libvgpu."),
    "Project-HAMi/HAMi-core include/log_utils.h",
)
NCCL_TESTS_DEVICE = Message(
    "nccl-tests-device",
    r"#\s+Rank\s+\d+\s.{0,120}?\bdevice\s+(?P<index>\d+) \[[0-9a-fx:.]+\] (?P<name>NVIDIA .{2,60})",
    ("# Rank", "#  Rank", "#   Rank"),
    "NVIDIA/nccl-tests src/common.cu",
)
NCCL_TESTS_HEADER = Message(
    "nccl-tests-header", r"#\s+\(B\)\s+\(elements\)", ("(elements)",), "NVIDIA/nccl-tests src/common.cu"
)
NCCL_TESTS_ROW = Message(
    "nccl-tests-row",
    r"^\s*\d+\s+\d+\s+(?:u?int(?:8|32|64)|half|float|double|bfloat16|fp8_\w+)\s+\w+\s.*\d",
    ("int8", "int32", "int64", "half", "float", "double", "fp8_"),
    "NVIDIA/nccl-tests src/common.cu",
)
PEER_ACCESS_CAN = Message(
    "cuda-peer-access-can",
    r"Device=\d+ CAN Access Peer Device=\d+",
    ("CAN Access Peer",),
    "NVIDIA/cuda-samples p2pBandwidthLatencyTest",
)
PEER_SAMPLE_DEVICE = Message(
    "cuda-peer-sample-device",
    r"^\s*Device: (?P<index>\d{1,3}), (?P<name>[^,]{3,60}), pciBusID: [0-9a-f]{1,4}, pciDeviceID:",
    (", pciBusID:",),
    "NVIDIA/cuda-samples p2pBandwidthLatencyTest",
)
PEER_ENABLE_FAILED = Message(
    "cuda-peer-enable-failed",
    r"code=205\(\w{1,60}\) \"cudaDeviceEnablePeerAccess\(|"
    r"p2pBandwidthLatencyTest\.cu:\d{1,5}: 'mapping of buffer object failed'",
    ("cudaDeviceEnablePeerAccess(", "mapping of buffer object failed"),
    "NVIDIA/cuda-samples simpleP2P, p2pBandwidthLatencyTest (tinygrad/open-gpu-kernel-modules 5, 44)",
)
ACS_NUMBER = Message(
    "acs-control-number",
    r"ACSCtl\S{0,3}\s{0,4}(?:=\s?)?0x(?P<bits>[0-9a-fA-F]{1,4})\b",
    ("ACSCtl",),
    "people's own words for what `setpci -s BDF ECAP_ACS+6.w` prints",
)
STATED_BUSY = Message(
    "stated-gpu-busy",
    r"(?:\bGPU[- ]?Util(?:i[sz]ation)?\b|\butilization\.gpu\b)\W{0,4}(?:is |at |about |approximately )?(?P<percent>9\d|100)\s?%",
    ("GPU-Util", "GPU util", "GPU Utili", "utilization.gpu"),
    "people's own words; nvidia-smi's table has no number on that line",
)
STATED_NO_PCIE = Message(
    "stated-no-pcie-traffic",
    r"PCIe\W{1,3}(?:RX|TX)\W{0,3}0\b(?:\s?[KM]B/s)?\W{1,4}(?:TX|RX)\W{0,3}0\b",
    ("PCIe RX", "PCIe TX", "PCIe: RX", "PCIe: TX"),
    "people's own words for nvtop and dmon columns",
)
STATED_POWER = Message(
    "stated-power",
    r"\bPower\b\W{0,3}(?:draw\W{0,3})?(?:approximately |about |around |~ ?)?(?P<watts>\d{2,4})(?:\.\d+)? ?W\b(?! ?/)",
    ("Power",),
    "people's own words",
)
STATED_XID_ALL = Message(
    "stated-xid-all",
    r"Xid (?P<code>\d{1,3}) on (?:both|all|each|every)(?: of the)?(?: \d+)? GPUs?",
    ("Xid",),
    "people's own words",
)
WRITE_RATE = Message(
    "pcie-write-rate",
    r"\b(?P<gpus>\d{1,2})\s?(?:x\s)?GPUs?\b.{0,60}?\bwrit(?:e|es|ing)\b.{0,40}?\b(?P<rate>\d{1,4}(?:\.\d+)?)\s?GB/s",
    ("GB/s",),
    "people's own measurements",
)

RAY_CLIENT_MISMATCH = Message(
    "ray-client-version-mismatch",
    r"Python minor versions differ between client and server:\s+client is (?P<client>[\d.]{3,12}),\s+"
    r"server is (?P<server>[\d.]{3,12})|Client Ray installation incompatible with server",
    ("differ between client and server", "Client Ray installation incompatible"),
    "ray/util/client/__init__.py _check_versions",
)
CUSTOM_AR_FAILED = Message(
    "custom-allreduce-failed",
    r"custom_all_reduce\.cuh:\d{1,5} '(?P<error>[^']{3,80})'",
    ("custom_all_reduce.cuh",),
    "vllm csrc/custom_all_reduce.cuh CUDACHECK (0.5 to 0.33); sglang sgl-kernel",
)
TEST_PASSED = Message(
    "nccl-tests-passed",
    r"#\s+Out of bounds values\s*:\s*0 OK",
    ("Out of bounds values",),
    "NVIDIA/nccl-tests src/common.cu",
)
SANITY_PASSED = Message(
    "vllm-nccl-check-passed",
    r"vLLM NCCL with cuda graph is successful!",
    ("vLLM NCCL with cuda graph is successful",),
    "vllm docs/usage/troubleshooting.md: the last line of its check of NCCL",
)
STATED_LINK = Message(
    "stated-pcie-link",
    r"\bpcie\.link\.(?P<what>gen|width)\.current\W{1,4}(?P<now>\d{1,2})\b",
    ("pcie.link.",),
    "one property a line, as people copy it out of a query",
)
STATED_LINK_MAX = Message(
    "stated-pcie-link-max",
    r"\bpcie\.link\.(?P<what>gen|width)\.max\W{1,4}(?P<most>\d{1,2})\b",
    ("pcie.link.",),
    "one property a line, as people copy it out of a query",
)
NVTOP_LINK = Message(
    "kernel-nvtop-link",
    r"PCIe GEN (?P<gen>\d)@ ?(?P<width>\d{1,2})x",
    ("PCIe GEN",),
    "nvtop src/interface.c",
)
