"""Messages of RDMA: the verbs, UCX, and what NCCL says about both. `libnccl X` as origin: see `nccl`."""

from qops.evidence.message import Message

MEMLOCK_VERBS = Message(
    "ibv-cannot-allocate",
    r"(?P<call>ibv_(?:reg_mr|create_|alloc_pd)\w{0,20})\b(?:\(.{0,120}?\))?[^:]{0,10}failed"
    r"(?:\s*:| with error) (?P<error>Cannot allocate\s*memory)|"
    r"Unable to register memory\b.{0,120}?Cannot allocate memory",
    ("ibv_reg_mr", "ibv_create_", "ibv_alloc_pd", "Unable to register memory"),
    "libnccl 2.32.3 ibvwrap.cc (`Call to ibv_reg_mr_iova2 failed with error …`); UCX ib_md.c; aws-ofi-nccl",
)
MEMLOCK_UCX = Message(
    "ucx-memlock",
    r"Please set max locked memory \(ulimit -l\) to 'unlimited'(?:.{0,40}\(current: (?P<kbytes>\d+) kbytes\))?",
    ("Please set max locked memory",),
    "UCX uct/ib/base/ib_log.c",
)
VERBS_MUTE = Message(
    "ibv-failed-without-error",
    r"NCCL WARN Call to (?P<call>ibv_(?:reg_mr|create_|alloc_pd)\w{0,20}) failed\s*$",
    ("Call to ibv_",),
    "NCCL 2.2 to 2.12, ibvwrap.cc (IBV_PTR_CHECK): the error is not said",
)
REGISTER_GPU_MEMORY = Message(
    "ibv-register-gpu-memory",
    r"ibv_reg_dmabuf_mr\w{0,20}\b.{0,40}?failed(?:\s*:| with error) (?P<error>[^,]{3,80})",
    ("ibv_reg_dmabuf_mr",),
    "libnccl 2.12 and later, ibvwrap.cc: the GPU's memory as a DMA buffer, which no limit on locked memory counts",
)
MODIFY_QP = Message(
    "ibv-modify-qp",
    r"Call to ibv_modify_qp failed with (?:error )?(?:(?P<number>\d+) )?(?P<error>[A-Z][^,]{0,80})"
    r"(?:,.{0,200}?on dev (?P<device>[\w.-]+):(?P<port>\d+))?(?:.{0,200}?local GID index (?P<index>-?\d+))?"
    r"(?:,? local GID (?P<local>[0-9a-fA-F:.<>\w]+))?(?:,? remote GID (?P<remote>[0-9a-fA-F:.<>\w]+))?",
    ("ibv_modify_qp failed",),
    "libnccl 2.18.3 (`with error %s`), 2.24 and later (device, states and GIDs), ibvwrap.cc",
)
IB_COMPLETION = Message(
    "nccl-ib-completion",
    r"NET/IB(?:/GIN)?\s*:\s*Got completion (?:from peer (?P<peer>\S+) )?with (?:status=|error )"
    r"(?:\w+\()?(?P<status>\d+)\)?.{0,200}?vendor[ _]err[ =](?P<vendor>\d+)(?:.{0,300}?hca (?P<hca>\S+))?",
    ("Got completion from peer", "Got completion with"),
    "libnccl net_ib.cc: without the peer to 2.8, `with error N` to 2.17, `with status=N` from 2.18, `status=NAME(N)` in 2.30 and later",
)
HINT_GID = Message(
    "nccl-hint-gid",
    r"HINT: .{0,120}?incorrect GID index is forced by NCCL_IB_GID_INDEX",
    ("incorrect GID index is forced",),
    "libnccl 2.32.3",
)
HINT_CROSS_RAIL = Message(
    "nccl-hint-cross-rail",
    r"HINT: .{0,120}?the NICs are not cross-rail connected",
    ("not cross-rail connected",),
    "libnccl 2.32.3",
)
NO_IB_DEVICE = Message(
    "nccl-no-ib-device", r"NET/IB\s*:\s*No device found", ("No device found",), "libnccl 2.18.3 to 2.32.3"
)
IB_DEVICES = Message(
    "nccl-ib-devices",
    r"NET/IB\s*:\s*Using (?P<devices>\[0\].*)",
    ("NET/IB : Using", "NET/IB: Using"),
    "libnccl net_ib.cc",
)
GID_LINK_LOCAL = Message(
    "rdma-gid-link-local",
    r"GID\[\s*(?P<index>\d{1,3})\]:\s*(?P<gid>fe80[0-9a-fA-F:.]*)",
    ("GID[",),
    "rdma-core ibv_devinfo -v",
)
MTU_TOO_LONG = Message(
    "mtu-too-long",
    r"[Mm]essage too long,? mtu\W?(?P<mtu>\d{3,5})|Frag needed and DF set \(mtu = (?P<path>\d{3,5})\)",
    ("essage too long", "Frag needed"),
    "iputils ping -M do",
)
IB_QUEUE_PAIR = Message(
    "nccl-ib-queue-pair",
    r"NET/IB\s?: .{0,60}\bmtu (?P<mtu>[1-5])\b.{0,160}?\bGID (?P<index>\d{1,3}) "
    r"\((?P<subnet>[0-9A-Fa-f]{1,16})/(?P<interface>[0-9A-Fa-f]{1,16})\)",
    ("NET/IB:", "NET/IB :"),
    "libnccl net_ib.cc, `mtu` is enum ibv_mtu (3 is 1024, 5 is 4096), the GID in two numbers of the host's byte order",
)
RDMA_MTU = Message(
    "rdma-mtu-1024",
    r"(?:\bactive_mtu:\s*|^\s*Mtu\s*:\s*)(?P<mtu>1024)\b",
    ("active_mtu:", "Mtu "),
    "rdma-core ibv_devinfo; perftest ib_write_bw: what Ethernet's default of 1500 leaves",
)
NETDEV = Message(
    "rdma-netdev",
    r"^\s*(?P<device>[\w.-]+) port (?P<port>\d+) ==> (?P<interface>[\w.@-]+) \((?P<state>Up|Down)\)",
    (" ==> ",),
    "MLNX_OFED ibdev2netdev",
)

DEVICE_NOT_OPENED = Message(
    "nccl-rdma-device-not-opened",
    r"NET/IB\s*:\s*Unable to open device (?P<device>[\w.-]{1,40})",
    ("Unable to open device",),
    "libnccl net_ib.cc",
)
NO_VERBS_LIBRARY = Message(
    "nccl-no-verbs-library",
    r"Failed to open libibverbs\.so",
    ("Failed to open libibverbs.so",),
    "libnccl ibvsymbols.cc",
)
SOCKET_OVER_IB = Message(
    "nccl-socket-over-ib",
    r"NET/Socket\s*:\s*Using .{0,400}?\[\d{1,2}\](?P<interface>ib\w{1,30}):",
    ("NET/Socket : Using", "NET/Socket: Using"),
    "libnccl net_socket.cc; IP over InfiniBand names its interfaces ib…",
)
SOCKET_IN_USE = Message(
    "nccl-network-socket",
    r"Using network Socket\b",
    ("Using network Socket",),
    "libnccl net.cc",
)
