"""NCL050: GPUs that NVLink joins may not reach each other: the driver refuses P2P between them."""

from collections.abc import Iterator

from qops.data.messages import nccl as messages
from qops.evidence.message import Logs
from qops.rule import Confidence, Fix, Found, RuledOut, rule


@rule(
    "NCL050",
    "nvlink-pair-without-p2p",
    explains=("nccl-error", "job-failed", "engine-core-failed"),
    fix=(
        Fix(
            "look at the links and at the kernel's log, then reset all GPUs or reboot; if it stays, repair the board",
            commands=("nvidia-smi nvlink -s", "nvidia-smi topo -p2p r", "dmesg | grep -E 'NVRM: Xid'"),
        ),
        Fix("NCCL_IGNORE_DISABLED_P2P=1: NCCL goes on without P2P for this pair", kind="workaround"),
    ),
)
def nvlink_pair_without_p2p(logs: Logs) -> Iterator[Found | RuledOut]:
    """The driver refuses P2P between GPUs that NVLink joins."""
    seen: set[tuple[str, str]] = set()
    for hit in logs.find(messages.P2P_DISABLED_BETWEEN):
        pair = (hit.groups["a"], hit.groups["b"])
        # Without NVLINK it is said of boards that have no P2P by nature, and is no fault.
        if hit.groups.get("nvlink") is None or pair in seen:
            continue
        seen.add(pair)
        yield Found(
            f"GPUs {pair[0]} and {pair[1]}",
            "NVLink joins them, and the driver refuses P2P between them",
            (hit.quote,),
            Confidence.CERTAIN,
        )
