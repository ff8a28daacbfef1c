"""How the CPUs of a hardware class should choose their clock, and how memory should come in hugepages."""

from qops.derive.derived import Derived
from qops.derive.hardware_class import HardwareClass
from qops.evidence.kernel import CpuFrequency

GOVERNOR = "cpu.governor"
HUGEPAGES = "hugepages.enabled"


def governor(hardware: HardwareClass, cpu: CpuFrequency | None) -> Derived[str | None]:
    """Return the cpufreq governor; None: the one that is there stays.

    A Spark's memory fabric follows the CPUs' own choice of clock (cppc_cpufreq.auto_sel_mode=1, as the vendor's
    image sets it); a governor is no substitute where that is off.
    """
    if hardware is HardwareClass.SPARK:
        if cpu is not None and cpu.autonomous is False:
            return Derived(
                None,
                "a Spark's CPUs should choose by themselves, which is off: boot with cppc_cpufreq.auto_sel_mode=1",
            )
        return Derived(None, "a Spark's CPUs choose by themselves (cppc_cpufreq.auto_sel_mode), as the vendor sets it")
    return Derived(
        "performance", "the threads that feed the GPUs run in short bursts, which end before another governor reacts"
    )


def hugepages(hardware: HardwareClass) -> Derived[str]:
    """Return the mode of transparent hugepages: always, madvise or never."""
    if hardware is HardwareClass.SPARK:
        return Derived("madvise", "with always, half-used hugepages take memory that CPU and GPU share")
    return Derived("madvise", "programs that gain from hugepages ask for them; always stalls the others to compact")
