"""Texts of multi-GPU hosts in their real formats, with values of our own: topologies, readings, logs."""

from collections.abc import Sequence


def topology(*rows: str) -> str:
    """Write a `nvidia-smi topo -m` matrix; each row holds the cells of one GPU."""
    names = [f"GPU{i}" for i in range(len(rows))]
    head = "\t" + "\t".join([*names, "CPU Affinity", "NUMA Affinity"])
    body = [f"{n}\t" + "\t".join([*row.split(), "0-23", "0"]) for n, row in zip(names, rows, strict=True)]
    return "\n".join(["$ nvidia-smi topo -m", head, *body, ""])


def p2p(status: str = "OK") -> str:
    """Write what `nvidia-smi topo -p2p r` says of two GPUs."""
    return f"$ nvidia-smi topo -p2p r\n \tGPU0\tGPU1\n GPU0\tX\t{status}\n GPU1\t{status}\tX\n"


def spin(watts: float = 121.0, gpus: int = 2, seconds: int = 14) -> str:
    """Write a series of readings in which all GPUs spin: full use, no memory traffic, flat power and memory."""
    return "".join(
        f"2026/10/04 09:12:{s:02d}.{100 + g}, {g}, 100 %, 0 %, {watts + g / 10:.2f} W, 871 MiB, 2610 MHz, P1\n"
        for s in range(seconds)
        for g in range(gpus)
    )


def busy(seconds: int = 14) -> str:
    """Write a series in which both GPUs compute."""
    return "".join(
        f"2026/10/04 09:12:{s:02d}.{100 + g}, {g}, 97 %, 41 %, {520 + s}.50 W, 80122 MiB, 2380 MHz, P1\n"
        for s in range(seconds)
        for g in range(2)
    )


def gpu_list(name: str, count: int = 2, driver: str = "580.82.07", capability: str = "12.0") -> str:
    """Write `nvidia-smi --query-gpu` in CSV with a header."""
    head = "index, name, driver_version, compute_cap, memory.total [MiB]\n"
    return head + "".join(f"{i}, {name}, {driver}, {capability}, 97887 MiB\n" for i in range(count))


def bridge(address: str, secondary: int, acs: str) -> str:
    """Write one PCIe bridge as `lspci -vvv` does, with the ACS control bits in `acs` set."""
    bits = ("SrcValid", "TransBlk", "ReqRedir", "CmpltRedir", "UpstreamFwd", "EgressCtrl", "DirectTrans")
    control = " ".join(f"{b}{'+' if b in acs.split() else '-'}" for b in bits)
    return (
        f"{address} PCI bridge: Advanced Micro Devices, Inc. [AMD] Device 14ab (rev 01) (prog-if 00 [Normal decode])\n"
        f"\tBus: primary=00, secondary={secondary:02x}, subordinate={secondary:02x}, sec-latency=0\n"
        "\tCapabilities: [2a0 v1] Access Control Services\n"
        "\t\tACSCap:\tSrcValid+ TransBlk+ ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans+\n"
        f"\t\tACSCtl:\t{control}\n\n"
    )


def card(address: str) -> str:
    """Write one GPU as `lspci -vvv` does."""
    return (
        f"{address} VGA compatible controller: NVIDIA Corporation Device 2bb1 (rev a1) (prog-if 00 [VGA controller])\n"
        "\tLnkSta:\tSpeed 32GT/s, Width x16\n\n"
    )


def tree(acs: str) -> str:
    """Write two GPUs, each below a root port with `acs` set."""
    ports = bridge("00:01.1", 1, acs) + bridge("00:03.1", 0x21, acs)
    return ports + card("01:00.0") + card("21:00.0")


def start(
    transport: str = "P2P/IPC",
    version: str = "2.27.7+cuda12.9",
    settings: Sequence[str] = (),
    hosts: Sequence[str] = ("rig", "rig"),
) -> str:
    """Write the log of two ranks that start and connect over `transport`."""
    lines = []
    for rank, host in enumerate(hosts):
        head = f"{host}:{5210 + rank}:{5210 + rank} [{rank}] NCCL INFO"
        lines += [
            f"{head} Bootstrap: Using eno1:10.20.0.{7 + rank}<0>",
            f"{head} NCCL version {version}",
            *(f"{head} {s}" for s in settings),
            f"{head} ncclCommInitRank comm 0x55d0a{rank} rank {rank} nranks 2 cudaDev {rank} nvmlDev {rank} "
            f"busId {1 + 0x20 * rank:x}000 commId 0x77aa01 - Init START",
            f"{head} Channel 00/0 : {rank}[{rank}] -> {1 - rank}[{1 - rank}] via {transport}",
            f"{head} ncclCommInitRank comm 0x55d0a{rank} rank {rank} nranks 2 cudaDev {rank} nvmlDev {rank} "
            f"busId {1 + 0x20 * rank:x}000 commId 0x77aa01 - Init COMPLETE",
        ]
    return "\n".join(lines) + "\n"


FAR = topology("X PHB", "PHB X")
NODE = topology("X NODE NODE NODE", "NODE X NODE NODE", "NODE NODE X NODE", "NODE NODE NODE X")
NVLINK = topology("X NV12", "NV12 X")
SWITCH = topology("X PIX NODE NODE", "PIX X NODE NODE", "NODE NODE X PIX", "NODE NODE PIX X")
REDIRECT = "SrcValid ReqRedir CmpltRedir UpstreamFwd"
RESULT = "allreduce 256MiB 11.20 ms algbw 24.0 GB/s\n[rc=0]\n"
