"""Facts of NCCL: P2P levels, legacy numbers, defaults by version, and which release reads which variable."""

import re
from functools import cache

from msgspec import Struct

from qops.evidence.gpu import Path
from qops.pattern import lazy

Version = tuple[int, ...]

# Nearest first. NVIDIA/nccl src/graph/topo.h PATH_* and topoPathTypeStr; C2C, P2C and PXN are names of newer releases.
LEVELS = ("LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS")

# NVIDIA/nccl src/graph/paths.cc `levelsOldToNew`, the same from 2.18 to 2.30.7; larger numbers mean the last.
# Measured on 2.28.9: 0 printed `set by environment to LOC`, 4 to 6 printed SYS.
LEGACY_LEVELS = ("LOC", "PIX", "PXB", "PHB", "SYS", "SYS")

# NCCL knows no NODE: its CPU nodes are NUMA domains, so nvidia-smi's NODE is PHB to NCCL.
LEVEL_OF_PATH = {
    Path.NV: "NVL",
    Path.PIX: "PIX",
    Path.PXB: "PXB",
    Path.PHB: "PHB",
    Path.NODE: "PHB",
    Path.SYS: "SYS",
}

_NEW_DEFAULT = (2, 23, 4)  # paths.cc: PXB everywhere but AMD x86 with at most two GPUs
CUMEM_HOST_DEFAULT = (2, 24)  # host buffers by cuMem are on by default from here (docs, NCCL_CUMEM_HOST_ENABLE)
NVLS_FAILS_LOUD = (2, 29)  # before, a failing multicast fell back on one rank only, and the job could hang (docs)
GID_BY_ITSELF = (2, 21)  # docs, NCCL_IB_GID_INDEX: do not set from here on
GRAPH_NET_FIX = (
    2,
    30,
    4,
)  # a two-node job with captured collectives hung on 2.28.9 and ran on this (vllm-project/vllm)

# Blackwell (major compute capability 10 and 12) needs a library built with CUDA 12.8 or later: the one that PyPI has
# as 2.25.1 says `+cuda12.2` and holds code up to sm_90, that of 2.26.5 says `+cuda12.9` and holds sm_100 and sm_120
# (read out of both). On RTX 5090 collectives failed with 2.25.1 and worked with 2.26.2 (NVIDIA/nccl-tests 287, 291).
FIRST_TOOLKIT = {9: (11, 8), 10: (12, 8), 12: (12, 8)}
FIRST_RELEASE = {10: (2, 26, 2), 12: (2, 26, 2)}
# All-reduces of 512 KiB and more between two RTX PRO 6000 end in an illegal access with 2.26.2, and do not with 2.31.2
# (NVIDIA/nccl#2418). Major compute capability to major and minor release.
ILLEGAL_ACCESS = {12: (2, 26)}


class EngineDefault(Struct, frozen=True):
    """A variable that a serving engine sets when nobody did."""

    engine: str
    name: str
    value: str
    source: str


ENGINE_DEFAULTS = (
    EngineDefault("sglang", "NCCL_CUMEM_ENABLE", "0", "sglang 0.5.23 entrypoints/engine.py _set_envs_and_config"),
    EngineDefault("sglang", "NCCL_NVLS_ENABLE", "0", "sglang 0.5.23 entrypoints/engine.py _set_envs_and_config"),
    EngineDefault("vllm", "NCCL_CUMEM_ENABLE", "0", "vllm 0.9 env_override.py; 0.33 no longer sets it"),
)


def version_of(text: str) -> Version:
    """Return `2.28.9+cuda13.0` as (2, 28, 9); () when there is no version in `text`."""
    match = re.search(r"(?<![\d.])(\d{1,3})\.(\d{1,3})(?:\.(\d{1,3}))?", text, re.ASCII)
    return tuple(int(part) for part in match.groups() if part is not None) if match else ()


def written(version: Version) -> str:
    """Return (2, 28, 9) as `2.28.9`."""
    return ".".join(map(str, version))


def level_of(value: str) -> str | None:
    """Return the level that NCCL reads in a P2P_LEVEL value; None when it reads none and so ignores it.

    As paths.cc `ncclGetLevel`: the names by strcmp (case counts), else a number when the first character is a digit.
    """
    if value in LEVELS:
        return value
    match = re.match(r"[0-9]+", value)
    return LEGACY_LEVELS[min(int(match.group()[:3]), len(LEGACY_LEVELS) - 1)] if match else None


def distance(level: str) -> int:
    """Return how far `level` reaches: 0 for LOC, the highest for SYS."""
    return LEVELS.index(level)


class DefaultLevel(Struct, frozen=True):
    """The P2P level that is in force when nothing is set, and why."""

    level: str
    because: str


def default_p2p_level(version: Version, cpu_vendor: str, machine: str, gpus: int | None) -> DefaultLevel:
    """Return the level that NCCL `version` uses by itself for a communicator of `gpus` GPUs in this machine.

    Source: NVIDIA/nccl src/graph/paths.cc ncclTopoCheckP2p. An unknown version is taken as current.
    """
    x86 = machine in ("", "x86_64", "amd64")
    if version and version < _NEW_DEFAULT:
        if "AMD" in cpu_vendor.upper():
            return DefaultLevel("SYS", f"NCCL {written(version)} allows P2P at any distance on AMD processors")
        return DefaultLevel("PXB", f"NCCL {written(version)} stops at PXB on Intel, Arm and Zhaoxin processors")
    name = f"NCCL {written(version)}" if version else "a current NCCL"
    if "AMD" in cpu_vendor.upper() and x86 and gpus is not None and gpus <= 2:
        return DefaultLevel("SYS", f"{name} allows P2P at any distance for two GPUs on an AMD processor")
    return DefaultLevel("PXB", f"{name} stops at PXB (PCIe switches) by itself")


# First release that holds the name, as a string of its library: read out of libnccl.so of 2.18.3, 2.19.3, 2.20.5,
# 2.21.5, 2.22.3, 2.23.4, 2.24.3, 2.25.1, 2.26.5, 2.27.7, 2.28.9, 2.29.7, 2.30.7, 2.31.2 (nvidia-nccl-cu12) and 2.32.3
# (nvidia-nccl-cu13). The oldest row means: 2.18 or before. Names without their NCCL_.
_SINCE: dict[Version, str] = {
    (2, 18): """
        AGG_CHANNEL_SIZE ALGO ALLOC_P2P_NET_LL_BUFFERS BUFFSIZE CGA_CLUSTER_SIZE CHECK_POINTERS CHUNK_SIZE
        COLLNET_ENABLE COLLNET_NODE_THRESHOLD COMM_BLOCKING COMM_ID COMM_SPLIT_SHARE_RESOURCES CREATE_THREAD_CONTEXT
        CROSS_NIC CUDA_PATH CUMEM_ENABLE DEBUG DEBUG_FILE DEBUG_SUBSYS DMABUF_ENABLE GDRCOPY_ENABLE GDRCOPY_FIFO_ENABLE
        GDRCOPY_FLUSH_ENABLE GDRCOPY_SYNC_ENABLE GDR_FLUSH_DISABLE GRAPH_DUMP_FILE GRAPH_DUMP_FILE_RANK GRAPH_FILE
        GRAPH_HELPER_DISABLE GRAPH_MIXING_SUPPORT GRAPH_REGISTER GROUP_CUDA_STREAM HOSTID IB_ADAPTIVE_ROUTING
        IB_AR_THRESHOLD IB_DISABLE IB_GID_INDEX IB_HCA IB_MERGE_VFS IB_PCI_RELAXED_ORDERING IB_PKEY
        IB_QPS_PER_CONNECTION IB_RETRY_CNT IB_SL IB_SPLIT_DATA_ON_QPS IB_TC IB_TIMEOUT IB_USE_INLINE IGNORE_CPU_AFFINITY
        IGNORE_DISABLED_P2P L1_SHARED_MEMORY_CARVEOUT LAUNCH_MODE LL128_BUFFSIZE LL128_NTHREADS LL_BUFFSIZE MAX_CTAS
        MAX_NCHANNELS MAX_NRINGS MAX_P2P_NCHANNELS MEM_SYNC_DOMAIN MIN_CTAS MIN_NCHANNELS MIN_NRINGS MIN_P2P_NCHANNELS
        NCHANNELS_PER_NET_PEER NET NET_DISABLE_INTRA NET_FORCE_FLUSH NET_GDR_LEVEL NET_GDR_READ NET_OVERHEAD NET_PLUGIN
        NET_SHARED_BUFFERS NET_SHARED_COMMS NSOCKS_PERTHREAD NTHREADS NVB_DISABLE NVB_PRECONNECT NVLS_ENABLE
        NVLS_NCHANNELS P2P_DIRECT_DISABLE P2P_DISABLE P2P_LEVEL P2P_LL_THRESHOLD P2P_NET_CHUNKSIZE P2P_NVL_CHUNKSIZE
        P2P_PCI_CHUNKSIZE P2P_PXN_LEVEL P2P_READ_ENABLE P2P_USE_CUDA_MEMCPY PROGRESS_APPENDOP_FREQ PROTO
        PROXY_APPEND_BATCH_SIZE PROXY_DUMP_SIGNAL PXN_DISABLE SET_STACK_SIZE SET_THREAD_NAME SHM_DISABLE SHM_LOCALITY
        SHM_MEMCPY_MODE SHM_USE_CUDA_MEMCPY SOCKET_FAMILY SOCKET_IFNAME SOCKET_NTHREADS THREAD_THRESHOLDS TOPO_DUMP_FILE
        TOPO_DUMP_FILE_RANK TOPO_FILE WORK_FIFO_DEPTH
    """,
    (2, 19): """
        LOCAL_REGISTER NVLS_REG_BUFFER REGULAR_BUFFER REG_BUFFER_NUM TUNER_PLUGIN
    """,
    (2, 20): """
        CONNECT_ROUND_MAX_PEERS IB_MERGE_NICS MNNVL NVLSTREE_MAX_CHUNKSIZE REPORT_CONNECT_PROGRESS
        WARN_ENABLE_DEBUG_INFO
    """,
    (2, 21): """
        COLLNET_REG_BUFFER IB_ADDR_FAMILY IB_ADDR_RANGE IB_ROCE_VERSION_NUM MNNVL_ENABLE NVLS_CHUNKSIZE
    """,
    (2, 22): """
        IB_FIFO_TC IB_ROUTABLE_FLID_GID_INDEX RUNTIME_CONNECT UNPACK_DOUBLE_NCHANNELS WORK_ARGS_BYTES WORK_FIFO_BYTES
    """,
    (2, 23): """
        CONF_FILE CUMEM_HOST_ENABLE IB_ECE_ENABLE IB_RETURN_ASYNC_EVENTS MNNVL_CLIQUE_ID OOB_NET_ENABLE OOB_NET_IFNAME
        PAT_ENABLE PROFILER_PLUGIN UID_STAGGER_RATE UID_STAGGER_THRESHOLD
    """,
    (2, 24): """
        IB_MQP_RETRY_ALL IB_MQP_RETRY_CNT IB_MQP_RETRY_SLEEP_MSEC IB_WARN_RAIL_LOCAL LEGACY_CUDA_REGISTER
        NET_FORCE_MERGE NET_MERGE_LEVEL NET_OPTIONAL_RECV_COMPLETION RAS_ADDR RAS_ENABLE RAS_TIMEOUT_FACTOR
        SOCKET_RETRY_CNT SOCKET_RETRY_SLEEP_MSEC
    """,
    (2, 25): """
        MNNVL_UUID
    """,
    (2, 26): """
        DEBUG_TIMESTAMP_FORMAT DEBUG_TIMESTAMP_LEVELS LAUNCH_ORDER_IMPLICIT LAUNCH_RACE_FATAL NET_GDR_C2C
    """,
    (2, 27): """
        COMM_SHRINK_SHARE_RESOURCES CTA_POLICY IB_DATA_DIRECT LL128_C2C MNNVL_SCATTER_NETS_ENABLE
        NVLINK_UTIL_CENTRIC_SCHED_ENABLE PXN_C2C SOCKET_INLINE SOCKET_MIN_TASKSIZE SOCKET_RCVBUF SOCKET_SNDBUF SYM_CTAS
        SYM_KERNEL WIN_ENABLE WIN_STRIDE
    """,
    (2, 28): """
        ENV_PLUGIN GIN_COUNTER_POOL_SIZE GIN_ENABLE GIN_ERROR_QUERY_SEC GIN_GDAKI_NIC_HANDLER GIN_GDAKI_QP_DEPTH
        GIN_NCONTEXTS GIN_PROXY_QUEUE_SIZE GIN_SIGNAL_POOL_SIZE GIN_TYPE MNNVL_RAIL_PER_HOST NETDEVS_POLICY NVTX_DISABLE
        P2P_SCHEDULE_GROUP_SIZE PROXY_CPUSET SET_CPU_STACK_SIZE SINGLE_PROC_MEM_REG_ENABLE
    """,
    (2, 29): """
        ALLGATHERV_ENABLE CHECK_MODE DISABLE_MEM_MANAGER ENABLE_VERSION_CHECK GDAKI_USE_RELIABLE_DB
        GIN_EXCLUSIVE_CONTEXTS GIN_NCONNECTIONS GIN_PLUGIN IB_DEVICE_PCI_ORDER IB_PREPOST_RECEIVE_WORK_REQUESTS
        IB_RECEIVER_SIDE_MATCHING_SCHEME IB_RESILIENCY_PORT_FAILOVER IB_RESILIENCY_PORT_FAILOVER_MAX_ATTEMPTS
        IB_RESILIENCY_PORT_FAILOVER_PROBE_DELAY LSA_TEAM_SIZE MULTI_SEGMENT_REGISTER NO_CACHE P2P_EPOCH_ENABLE
        P2P_PER_CHANNEL_NET_BW RMA_PROXY_DUMP_SIGNAL RMA_PROXY_QUEUE_SIZE SOCKET_POLL_TIMEOUT_MSEC SYM_CE_THRESHOLD
        SYM_GIN_KERNELS_ENABLE SYM_NOWIN_ENABLE
    """,
    (2, 30): """
        ELASTIC_BUFFER_REGISTER GIN_GDAKI_MAX_DEST_RD_ATOMIC GIN_GDAKI_MAX_QP_RD_ATOMIC GIN_IB_TC GRAPH_STREAM_ORDERING
        IBVERBS_LIB IB_OOO_RQ IB_QUERY_PORT_SPEED IB_RESILIENCY_PORT_RECOVERY IB_RESILIENCY_PORT_RECOVERY_ACK_TIMEOUT
        IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_BATCH_INTERVAL IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_BATCH_SIZE
        IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_SEQUENCE_SIZE IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_TIMEOUT
        IB_RESILIENCY_PORT_RECOVERY_ATTEMPTS_MAX IB_RESILIENCY_PORT_RECOVERY_START_DELAY IB_SUBNET_AWARE_ROUTING
        IB_SUBNET_PREFIX_LEN IGNORE_COLLNET_MISMATCH IGNORE_NET_MISMATCH MLOPART_RDMA_ENABLE MNNVL_CROSS_CLIQUE
        MULTI_RANK_GPU_ENABLE NET_GDR_MLOPART NET_MERGE_POLICY P2P_MAX_PEERS PARAM_DUMP_ALL RMA_DISABLE RMA_PLUGIN
        SHADOW_MEMPOOL_MAX_SIZE SOCKET_MAGIC SYM_REUSE_SYSMEM_HANDLES SYM_RS_GIN_CHUNK_SIZE SYM_TMA_ENABLE
        TOPO_SPLIT_MLOPART
    """,
    (2, 31): """
        CE_COLL_AG_MULTICAST_THRESHOLD DIAGNOSTICS_ECC_THRESHOLD ENQUEUE_REARCH_ENABLE GDRCOPY_USE_INTERNAL_DMABUF
        GIN_IB_OOO_OPT GIN_PROXY_NTHREADS GIN_PROXY_POLL_BATCH HIER_CE_COLL_NUM_CTX IB_EVENT_BASED_LB
        IB_EVENT_BASED_LB_REMOTE IB_PKEY_VALUE IB_WQE_LATENCY_REPORT IB_WQE_LATENCY_THRESHOLD_NS
        P2P_PER_CHANNEL_REG_NET_BW PAT_NDIMS RMA_EAGER_INIT RMA_MULTI_CTX_THRESHOLD RUN_DIAGNOSTICS RUN_RAS_DIAGNOSTICS
        TOPO_SCATTER_START_NET
    """,
    (2, 32): """
        CE_CHUNK_SIZE CE_INTRA_GPU_MEMCPY_ENABLE DEBUG_LEVELS DIAGNOSTICS_IB_BW_TIMEOUT GDAKI_FORCE_MCST
        GIN_GDAKI_LAG_AWARE_DISABLE HIER_CE_COLL_AG_RAIL_RING_ENABLE IB_MLX_VENDOR_ID IB_RAIL_POLICY IB_SORT_MERGE_NICS
        IB_VR_RAILS_PER_SOCKET IB_VR_SOCKET_COUNT NVLS_UB_SIZE PROGRESS_COUNTERS PROGRESS_COUNTER_MONITOR_POLL_MS
        PROGRESS_COUNTER_MONITOR_STALE_MS PROGRESS_COUNTER_MONITOR_STALE_WARN_SEC RMA_IB_WR_BATCHSIZE
    """,
}

# First of those releases that holds the name no more.
_GONE: dict[Version, str] = {
    (2, 20): "AGG_CHANNEL_SIZE",
    (2, 21): "CUDA_PATH MNNVL REG_BUFFER_NUM",
    (2, 22): "WORK_FIFO_DEPTH",
    (2, 24): "COLLNET_REG_BUFFER NVLS_REG_BUFFER REGULAR_BUFFER",
    (
        2,
        30,
    ): """
        CREATE_THREAD_CONTEXT GIN_COUNTER_POOL_SIZE GIN_EXCLUSIVE_CONTEXTS
        GIN_NCONTEXTS GIN_SIGNAL_POOL_SIZE SHM_MEMCPY_MODE SHM_USE_CUDA_MEMCPY
    """,
    (2, 32): "MLOPART_RDMA_ENABLE NET_GDR_MLOPART TOPO_SCATTER_START_NET",
}

# Read by plug-ins, by PyTorch, by build scripts or by CUDA's images, not by libnccl.
_FOREIGN = lazy(
    r"NCCL_(?:VERSION|HOME|ROOT|ROOT_DIR|DIR|PATH|LIB|LIBRARY|LIBRARIES|LIB_DIR|INCLUDE_DIRS?|INCLUDE|SO_PATH|SRC"
    r"|BLOCKING_WAIT|ASYNC_ERROR_HANDLING|DESYNC_DEBUG|ENABLE_TIMING|TRACE_BUFFER_SIZE|DUMP_ON_TIMEOUT|TESTS?_\w+"
    r"|FASTRAK_\w+|GPUDIRECTTCPX\w*|TUNER_CONFIG_\w+|INSPECTOR_\w+|DYNAMIC_\w+|PROFILE_EVENT_MASK|PROFILE_DUMP_FILE"
    r"|SHIMNET_\w+|NVLSTREE_\w+|CUDA_VERSION|PACKAGE_VERSION|LOCAL_\w+|FLOW_\w+|SHARP_\w+|BUILD_\w+|CTRAN\w*|COMMSMONITOR\w*"
    r"|RINGS|LL_THRESHOLD|TREE_THRESHOLD|NET_GDR_PEERS?|IB_CUDA_SUPPORT|SINGLE_RING_THRESHOLD)"
)

# Values that are text; every other variable is a number that is read with strtoll, so `true` is 0.
_TEXTS = """
        ALGO CHECK_MODE COMM_ID CONF_FILE DEBUG DEBUG_FILE DEBUG_LEVELS DEBUG_SUBSYS DEBUG_TIMESTAMP_FORMAT
        DEBUG_TIMESTAMP_LEVELS ENV_PLUGIN GIN_PLUGIN GRAPH_DUMP_FILE GRAPH_FILE HOSTID IBVERBS_LIB IB_ADDR_FAMILY
        IB_ADDR_RANGE IB_HCA IB_RAIL_POLICY LAUNCH_MODE MNNVL_UUID NET NETDEVS_POLICY NET_FORCE_MERGE NET_GDR_LEVEL
        NET_MERGE_LEVEL NET_MERGE_POLICY NET_PLUGIN NO_CACHE OOB_NET_IFNAME P2P_LEVEL PROFILER_PLUGIN PROTO PROXY_CPUSET
        PROXY_DUMP_SIGNAL RAS_ADDR RAS_TIMEOUT_FACTOR RMA_PLUGIN SOCKET_FAMILY SOCKET_IFNAME SOCKET_MAGIC SYM_KERNEL
        THREAD_THRESHOLDS TOPO_DUMP_FILE TOPO_FILE TUNER_PLUGIN MIN_NRINGS CUDA_PATH RUN_DIAGNOSTICS GIN_TYPE CTA_POLICY
"""
DEBUG_LEVELS = ("NONE", "VERSION", "WARN", "INFO", "ABORT", "TRACE", "ATTN")  # debug.cc; compared without case


@cache
def _since() -> dict[str, Version]:
    return {f"NCCL_{name}": version for version, names in _SINCE.items() for name in names.split()}


@cache
def _gone() -> dict[str, Version]:
    return {f"NCCL_{name}": version for version, names in _GONE.items() for name in names.split()}


@cache
def strings() -> frozenset[str]:
    """Return the variables whose value is text."""
    return frozenset(f"NCCL_{name}" for name in _TEXTS.split())


def known() -> tuple[str, ...]:
    """Return every variable that some release of NCCL reads."""
    return tuple(_since())


def foreign(name: str) -> bool:
    """Return whether `name` looks like NCCL's but belongs to a plug-in, to PyTorch or to an image."""
    return _FOREIGN.fullmatch(name) is not None


def read_from(name: str) -> Version | None:
    """Return the first release known to read `name`; (2, 18) also stands for before; None for an unknown name."""
    return _since().get(name)


def read_until(name: str) -> Version | None:
    """Return the first release that no longer reads `name`; None when the newest known one still does."""
    return _gone().get(name)
