"""HST005: nouveau, or another driver, holds the GPU."""

from collections.abc import Iterator

from qops.data.messages import kernel, system
from qops.evidence.kernel import Modules
from qops.evidence.message import Logs, quotes
from qops.evidence.pcie import PcieTree
from qops.rule import Confidence, Fix, Found, RuledOut, rule

OTHERS = ("nouveau", "vfio-pci", "nova_core", "nova", "nvidiafb")  # drivers that take a GPU before NVIDIA's


@rule(
    "HST005",
    "nouveau-conflict",
    explains=("nvml-failed", "no-visible-gpu", "cuda-error", "kernel-upgrade-no-module"),
    fix=(
        Fix(
            "blacklist the other driver, rebuild the initial ramdisk, reboot",
            commands=("lspci -nnk -d 10de:", "grep -rn nouveau /etc/modprobe.d"),
            needs_reboot=True,
        ),
    ),
)
def nouveau_conflict(logs: Logs, modules: Modules | None, pcie: PcieTree | None) -> Iterator[Found | RuledOut]:
    """Nouveau, or another driver, holds the GPU, so the NVIDIA driver cannot have it."""
    hits = logs.find(kernel.NOUVEAU)
    held = tuple(d for d in pcie.gpus if d.driver in OTHERS) if pcie else ()
    loaded = modules.loaded if modules else ()
    only = "nouveau" in loaded and "nvidia" not in loaded
    if not hits and not held and not only:
        return
    if "nvidia" in loaded and not held:
        yield RuledOut("the NVIDIA module is loaded now", (modules.quote,) if modules and modules.quote else ())
        return
    count = next((h.groups["count"] for h in hits if "count" in h.groups), "")
    named = next((h.groups["driver"] for h in hits if "driver" in h.groups), "")
    name = held[0].driver if held else named or "nouveau or another driver"
    unreachable = logs.find(system.DRIVER_UNREACHABLE)
    yield Found(
        subject=held[0].address or "GPU" if held else f"{count} GPUs" if count else "GPU",
        message=f"{name} holds the GPU, so the NVIDIA driver did not get it",
        evidence=(
            *quotes(hits, 3),
            *(d.quote for d in held[:2]),
            *((modules.quote,) if only and modules and modules.quote else ()),
            *quotes(unreachable, 1),
        ),
        confidence=Confidence.CERTAIN if hits or unreachable else Confidence.LIKELY,
    )
