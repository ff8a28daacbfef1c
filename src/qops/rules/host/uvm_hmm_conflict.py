"""HST018: the driver finds no address space for its heterogeneous memory management, and CUDA does not start."""

from collections.abc import Iterator

from qops.data.messages import device, kernel
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Fix, Found, rule


@rule(
    "HST018",
    "uvm-hmm-conflict",
    explains=("cuda-error", "no-visible-gpu", "job-failed", "engine-core-failed"),
    fix=(
        Fix(
            "switch HMM off, which inference does not use",
            commands=(
                "grep -r uvm_disable_hmm /etc/modprobe.d",
                "cat /sys/module/nvidia_uvm/parameters/uvm_disable_hmm",
            ),
            needs_reboot=True,
            variable="pcie_p2p_hmm",
            tag="pcie_p2p",
        ),
        Fix("boot with `nokaslr`", kind="workaround", risk="kernel addresses can be guessed", needs_reboot=True),
    ),
)
def uvm_hmm_conflict(logs: Logs) -> Iterator[Found]:
    """The driver finds no address space for its heterogeneous memory management, and CUDA does not start."""
    hits = logs.find(kernel.HMM_REGION)
    if hits:
        yield Found(
            "host",
            "nvidia-uvm was refused address space for HMM (error -34): this kernel places it by KASLR out of reach",
            quotes(hits, 2),
            Confidence.CERTAIN,
        )
    elif oops := logs.find(device.HMM_OOPS):
        yield Found(
            "host",
            f"the kernel failed in {oops[0].groups['function']} of nvidia-uvm: its HMM code has an error",
            quotes(oops, 2),
            Confidence.CERTAIN,
        )
