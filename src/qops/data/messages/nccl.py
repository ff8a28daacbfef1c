"""Messages of NCCL.

`libnccl X` as origin: the format string was read out of the library of that release (PyPI, nvidia-nccl-cu12
2.18.3 to 2.31.2 and nvidia-nccl-cu13 2.32.3).
"""

from qops.evidence.message import Message

DUPLICATE_GPU = Message(
    "nccl-duplicate-gpu",
    r"Duplicate GPU detected\s*:\s*rank (?P<a>\d+) and rank (?P<b>\d+) both on CUDA device (?P<bus>[0-9a-fA-F]+)",
    ("Duplicate GPU detected",),
    "libnccl 2.18.3 to 2.29.7, init.cc",
)

SAME_GPU_PARTITION = Message(
    "nccl-same-gpu-partition",
    r"Multiple Ranks are using the same GPU/Partition",
    ("Multiple Ranks are using the same GPU",),
    "libnccl 2.30.7, 2.32.3",
)

SAME_GPU_NVLS = Message(
    "nccl-same-gpu-nvls",
    r"NCCL_NVLS_ENABLE has been set to \"?1\"? and communicator has multiple ranks using the same NVML device",
    ("multiple ranks using the same NVML device",),
    "libnccl 2.32.3",
)

SHM_EXTEND = Message(
    "nccl-shm-extend",
    r"failed to extend (?P<path>/dev/shm/\S+) to (?P<size>\d+) bytes(?:, error: (?P<error>[^(]+))?",
    ("failed to extend /dev/shm",),
    "libnccl 2.18.3 (no error text), 2.23.4 and later (with it), shmutils.cc",
)

SHM_FALLOCATE = Message(
    "nccl-shm-fallocate",
    r"posix_fallocate failed\s*:\s*(?P<error>No space left on device)",
    ("posix_fallocate failed",),
    "NCCL 2.4 to 2.16, include/shm.h",
)

SHM_SEGMENT = Message(
    "nccl-shm-segment",
    r"Error while (?P<what>creating|attaching to) shared memory segment (?P<path>\S+) \(size (?P<size>\d+)\)"
    r"(?:, error: (?P<error>[^(]+))?",
    ("shared memory segment",),
    "NCCL 2.4 and later; libnccl 2.18.3, 2.23.4, 2.32.3",
)

NO_SOCKET_INTERFACE = Message(
    "nccl-no-socket-interface",
    r"no (?:socket )?interface found|NET/(?:IB|Socket)\s*:\s*No (?:IP|usable listening) interface found|"
    r"WARN Socket creation failed\s*:\s*Address family not supported by protocol",
    ("interface found", "Socket creation failed"),
    "libnccl 2.18.3 to 2.32.3, bootstrap.cc (recorded with 2.28.9); 2.2 to 2.4 in socket.h's words (NVIDIA/nccl 210)",
)

SOCKET_NO_ADDRESS = Message(
    "nccl-socket-no-address",
    r"ncclSocketInit: connecting to address\s+with family \d+ is neither AF_INET",
    ("ncclSocketInit: connecting to address",),
    "NVIDIA/nccl 1837 (2.27.7): what it says instead when NCCL_SOCKET_IFNAME matches nothing",
)

BOOTSTRAP_LOOPBACK = Message(
    "nccl-bootstrap-loopback",
    r"Bootstrap\s*:\s*Using lo:(?P<address>[^\s<]+)",
    ("Using lo:",),
    "libnccl bootstrap.cc: `Bootstrap : Using` to 2.26, `Bootstrap: Using` from 2.27",
)

SOCKET_CHANNEL = Message(
    "nccl-net-socket-channel",
    r"Channel \d+(?:/\d+)?\s*:\s*\d+\[\w+\] -> \d+\[\w+\].{0,40}?via NET/Socket",
    ("via NET/Socket",),
    "libnccl net.cc (recorded with 2.28.9)",
)

NVLS_BIND = Message(
    "nccl-nvls-bind",
    r"Failed to bind NVLink SHARP \(NVLS\) Multicast memory of size\s*(?P<size>\d+)(?:.{0,200}?CUDA error (?P<error>\d+))?",
    ("Failed to bind NVLink SHARP",),
    "libnccl 2.20.5 and later, nvls.cc",
)

NVLS_CUDA_FAILURE = Message(
    "nccl-nvls-cuda-failure",
    r"transport/nvls\.cc:\d+(?: \(\w{1,60}\))? NCCL WARN Cuda failure (?:(?P<error>\d+) )?'(?P<text>[^']*)'",
    ("transport/nvls.cc",),
    "libnccl 2.18 (no number) to 2.27, 2.30 and later (with the function), nvls.cc (CUCHECK)",
)

MULTICAST_STATE = Message(
    "cuda-multicast-state",
    r"CUDA error 401 'the operation cannot be performed in the present state'",
    ("CUDA error 401",),
    "cuda.h CUDA_ERROR_ILLEGAL_STATE (401), printed by nvls.cc on a line of its own when wrapped",
)

MULTICAST_TEAM = Message(
    "fabric-manager-multicast-team",
    r"failed to find the GPU handle \d+ in the multicast team request",
    ("multicast team request",),
    "fabric manager's log (NVIDIA/nccl 1043)",
)
MNNVL_IMEX = Message(
    "nccl-mnnvl-imex",
    r"MNNVL \(cliqueSize (?P<size>\d+)\) is available but not working on this system",
    ("is available but not working on this system",),
    "libnccl 2.25 and later, mnnvl.cc",
)

P2P_DISABLED_BETWEEN = Message(
    "nccl-p2p-disabled-between",
    r"P2P is disabled between (?P<nvlink>NVLINK )?connected GPUs (?P<a>\d+) and (?P<b>\d+)",
    ("P2P is disabled between",),
    "libnccl 2.18.3 to 2.32.3, paths.cc",
)

CUDA_FAILURE = Message(
    "nccl-cuda-failure",
    r"(?:(?P<where>[\w/]{1,60}\.(?:cc|h|cu):\d+)(?: \(\w{1,60}\))? )?NCCL WARN Cuda failure (?:(?P<error>\d+) )?'(?P<text>[^']*)'",
    ("NCCL WARN Cuda failure",),
    "libnccl 2.18.3 (no number), 2.21.5 and later (CUCHECK and CUDACHECK with a number)",
)

PEER_ACCESS_217 = Message(
    "nccl-peer-access-217",
    r"(?P<where>shm\.cc:\d+(?: \(\w{1,60}\))? NCCL WARN )?"
    r"Cuda failure 217 'peer access is not supported between these two devices'",
    ("Cuda failure 217",),
    "NCCL 2.26/2.27 transport/shm.cc with cuMem host buffers on drivers before 580; without a place as torch's last error",
)

PEER_MAP_ALIGNMENT = Message(
    "nvrm-peer-dma-alignment",
    r"NVRM:.{0,120}?(?:peer DMA address 0x[0-9a-f]+ is not aligned|IOMMU mapping failed from GPU\d+ to GPU\d+)",
    ("peer DMA address", "IOMMU mapping failed from GPU"),
    "open-gpu-kernel-modules kern_bus_gh100.c _kbusCreateStaticBar1IOMMUMapping, as logged on two RTX 5090",
)

PEER_MAP_FAILED = Message(
    "cuda-map-buffer-failed",
    r"cudaErrorMapBufferObjectFailed|mapping of buffer object failed",
    ("cudaErrorMapBufferObjectFailed", "mapping of buffer object failed"),
    "driver_types.h (205)",
)

SHARED_MEMORY_EXCEEDS = Message(
    "nccl-shared-memory-exceeds",
    r"ncclMaxSharedMem (?P<wanted>\d+) exceeds device/fn maxSharedMem (?P<has>\d+)",
    ("exceeds device/fn maxSharedMem",),
    "NCCL 2.25.1 on sm_120 (NVIDIA/nccl-tests 287); libnccl 2.23.4 and later, enqueue.cc",
)

PEER_CLOSED = Message(
    "nccl-peer-closed",
    r"Connection closed by remote peer(?: (?P<peer>\S+))?",
    ("Connection closed by remote peer",),
    "libnccl 2.18.3 to 2.32.3, socket.cc",
)

CONNECTION_RESET = Message(
    "nccl-connection-reset",
    r"NCCL WARN .{0,200}?(?:Connection reset by peer|Connection refused)|socket(?:Progress|PollConnect|StartConnect).{0,200}?"
    r"(?:Connection (?:refused|reset)|No route to host)",
    ("Connection reset by peer", "Connection refused", "No route to host"),
    "libnccl socket.cc",
)

CONNECT_FAILED = Message(
    "nccl-connect-failed",
    r"NCCL WARN .{0,200}?(?:Connect to \S{3,60} failed|Call to connect.{0,80}? failed)\s*:\s*(?:Connection (?:timed out|refused)|"
    r"No route to host|Network is unreachable|Software caused connection abort)",
    ("Connect to ", "Call to connect"),
    "libnccl socket.cc, 2.3 to 2.32",
)

UNHANDLED = Message(
    "nccl-unhandled",
    r"nccl(?:UnhandledCudaError|SystemError|InternalError|RemoteError|InvalidUsage|InvalidArgument)\b"
    r"|unhandled (?:system|cuda) error|remote process exited or there was a network error"
    r"|NCCL error: (?:internal|invalid|unhandled|remote)",
    (
        "ncclUnhandledCudaError",
        "ncclSystemError",
        "ncclInternalError",
        "ncclRemoteError",
        "ncclInvalid",
        "unhandled system error",
        "unhandled cuda error",
        "remote process exited",
        "NCCL error:",
    ),
    "libnccl ncclGetErrorString; torch NCCLUtils.cpp; vllm pynccl_wrapper.py",
)

RAS_PORT_BUSY = Message(
    "nccl-ras-port-busy",
    r"ras/(?:client_support|ras)\.cc:\d+(?: \(\w{1,60}\))? NCCL WARN Call to bind failed\s*:\s*Address already in use",
    ("Call to bind failed",),
    "libnccl 2.24 and later (2.30: with the function), ras/client_support.cc",
)

COLLECTIVE_MISMATCH = Message(
    "nccl-net-size-mismatch",
    r"NET/(?:IB|Socket)\s*:\s*req \d+/\d+ tag \w+ peer \S+ collective mismatch error,? local size (?P<local>\d+) "
    r"remote size (?P<remote>\d+)",
    ("collective mismatch error",),
    "NCCL 2.14 net_ib.cc",
)

VERSION_MISMATCH = Message(
    "nccl-version-mismatch",
    r"Mismatched NCCL version detected",
    ("Mismatched NCCL version",),
    "NVIDIA/nccl src/init.cc",
)

MISMATCHED_COLLECTIVE = Message(
    "nccl-mismatched-collective",
    r"Mismatched collective detected",
    ("Mismatched collective detected",),
    "NCCL 2.4 to 2.6, init.cc",
)

SOCKET_INTERFACES = Message(
    "nccl-socket-interfaces",
    r"NET/Socket\s?: Using (?P<interfaces>\[0\].{1,1500})",
    ("NET/Socket : Using", "NET/Socket: Using"),
    "libnccl net_socket.cc",
)

BOOTSTRAP_USING = Message(
    "nccl-bootstrap-using",
    r"(?P<host>[\w.-]{1,80}):\d{1,10}:\d{1,10} \[-?\d{1,4}\] NCCL INFO Bootstrap ?: Using (?:\[\d{1,3}\])?"
    r"(?P<name>[^\s:<]{1,40}):(?P<address>[^\s<]{2,60})",
    ("Bootstrap : Using", "Bootstrap: Using"),
    "libnccl bootstrap.cc: `Bootstrap : Using` to 2.26, `Bootstrap: Using` from 2.27",
)

NODES = Message(
    "nccl-nodes",
    r"\bcomm 0x[0-9a-f]{1,16} rank \d{1,7} n[rR]anks \d{1,7} nNodes (?P<nodes>\d{1,6})\b",
    (" nNodes ",),
    "libnccl 2.19 and later, init.cc",
)

PLUGIN_ABSENT = Message(
    "nccl-plugin-absent",
    r"(?:NET|PROFILER|TUNER|ENV|GIN|RMA)/Plugin ?: ?(?:Could not find|No plugin found|Using internal|Failed to find|"
    r"Plugin load .{0,40}returned|dlerror)",
    ("/Plugin",),
    "libnccl plugin/*.cc, 2.4 to 2.32: NCCL goes on with what it has built in",
)

NO_MULTICAST = Message(
    "nccl-no-multicast",
    r"NVLS multicast support is not available on dev",
    ("NVLS multicast support is not available",),
    "libnccl nvls.cc",
)

NETWORK_OF_HOST = Message(
    "nccl-network-of-host",
    r"(?P<host>[\w.-]{1,80}):\d{1,10}:\d{1,10} \[-?\d{1,4}\] NCCL INFO Using network (?P<name>\w{1,40})",
    ("Using network ",),
    "libnccl net.cc",
)

PLUGIN_OF_HOST = Message(
    "nccl-net-plugin-of-host",
    r"(?P<host>[\w.-]{1,80}):\d{1,10}:\d{1,10} \[-?\d{1,4}\] NCCL INFO (?:Plugin Path ?: (?P<path>\S{1,200})|"
    r"NET/Plugin ?: ?(?:Could not find|No plugin found))",
    ("Plugin Path", "NET/Plugin"),
    "libnccl net.cc, plugin/net.cc; the path is printed by NVIDIA's RDMA plug-in",
)

VERSION_OF_HOST = Message(
    "nccl-version-of-host",
    r"(?P<host>[\w.-]{1,80}):\d{1,10}:\d{1,10} \[-?\d{1,4}\] NCCL INFO NCCL version (?P<version>\d{1,3}\.\d{1,3}\.\d{1,3})",
    ("NCCL INFO NCCL version",),
    "libnccl 2.24 and later, init.cc",
)

PACKAGE = Message(
    "nccl-package",
    r"^\s*(?P<package>nvidia-nccl-cu\d{2})\s?(?:==|\s)\s?(?P<version>\d{1,3}\.\d{1,3}\.\d{1,3})\s*$",
    ("nvidia-nccl-cu",),
    "pip freeze, pip list",
)
