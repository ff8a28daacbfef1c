"""Kernel settings that a host of a hardware class should have, and why."""

from qops.derive.derived import Derived
from qops.derive.hardware_class import HardwareClass

SWAPPINESS = "vm.swappiness"
NUMA_BALANCING = "kernel.numa_balancing"
NR_HUGEPAGES = "vm.nr_hugepages"
MIN_FREE = "vm.min_free_kbytes"
PANIC = "kernel.panic"
PANIC_ON_OOPS = "kernel.panic_on_oops"
MIGRATION_COST = "kernel.sched_migration_cost_ns"

# Linux 5.13 moved it to debugfs, which lockdown (Secure Boot) closes; TuneD dropped it after measuring
# (redhat-performance/tuned#365). Guides still set it.
MIGRATION_COST_GONE = (
    "not a kernel setting since Linux 5.13 (it went to debugfs, which Secure Boot closes), and TuneD measured no gain"
)


def swappiness(hardware: HardwareClass) -> Derived[int]:
    """Return vm.swappiness, 0 to 200: how readily the kernel swaps memory rather than drop cached files.

    Never 0: then nothing is swapped until free and cached memory together are below the watermark
    (Documentation/admin-guide/sysctl/vm.rst), by which time the OOM killer is near.
    """
    if hardware is HardwareClass.SPARK:
        return Derived(
            10,
            "CPU and GPU share one memory: 60 swaps the engine out for cached files, 0 leaves only the OOM killer",
        )
    if hardware is HardwareClass.RTX5090:
        return Derived(10, "a workstation's other programs may be swapped, the engine's memory should stay")
    return Derived(1, "the engine's host memory should stay, and checkpoints that fill the file cache give way first")


def numa_balancing(hardware: HardwareClass) -> Derived[int]:
    """Return kernel.numa_balancing: whether the kernel unmaps pages to see who uses them, and moves them.

    Documentation/admin-guide/sysctl/kernel.rst: to be off where the load is bound to nodes, as engines are.
    """
    if hardware in (HardwareClass.SPARK, HardwareClass.RTX5090):
        return Derived(0, "there is one memory node, so it could only cost page faults")
    return Derived(0, "its page faults interrupt the threads that feed the GPUs, and pinned memory cannot move anyway")


# Settings for which nothing is derived: they are somebody's choice, and here is why.
CHOICES = {
    # Documentation/admin-guide/mm/hugetlbpage.rst
    NR_HUGEPAGES: "engines ask for no static hugepages, and what is set apart for them is lost to everything else",
    # tonyd2wild/GLM-5.3-Flash-NVFP4-DFlash2-2x-DGX-Spark#19: 6 GiB less were available, and vLLM did not start.
    MIN_FREE: "a higher reserve lowers the memory that an engine finds available, so that it may not start",
    # Documentation/admin-guide/sysctl/kernel.rst. MiaAI-Lab/DeepSeek-v4-Flash-DSpark-2x-DGX-Spark#157 wants both.
    PANIC: "a restart after a panic brings the service back, and takes the screen that tells why",
    PANIC_ON_OOPS: "after an oops a host may hang or go on for months: which is worse is its owner's to say",
}


def choice(key: str) -> Derived[None]:
    """Return why a setting of `CHOICES` is left as it is unless somebody chose."""
    return Derived(None, CHOICES[key])
