"""What the platform below the GPUs does to P2P: ACS redirect on bridges, IOMMU translation, patched drivers."""

import re
from collections.abc import Sequence

from qops.data.messages import device, launch
from qops.evidence.engine import JobResults
from qops.evidence.gpu import DriverParams, Gpus
from qops.evidence.kernel import Iommu, KernelCommandLine, KernelLog
from qops.evidence.message import Logs
from qops.evidence.nccl import NcclLog
from qops.evidence.pcie import PcieDevice, PcieTree
from qops.evidence.text import Quote
from qops.pattern import lazy

# Only these two send peer traffic up to the root complex; SrcValid alone changes no route (PCIe base specification,
# access control services; NVIDIA's NCCL guide, troubleshooting, PCI access control services).
REDIRECT = ("ReqRedir", "CmpltRedir")
_CONSUMER = lazy(r"GeForce|RTX (?:20|30|40|50)\d0\b", re.IGNORECASE)
# The keys by which a patched module maps all memory through BAR1 (noonghunna/club-3090 873, nvrm_registry.h 595.45).
_PATCH_KEYS = ("ForceP2P", "RMForceP2PType", "RMPcieP2PType", "RMForceStaticBar1", "PeerMappingOverride")
_WITHDRAWN = (525, 105)  # the driver from which GeForce 40 boards are offered no P2P any more
_NO_NVLINK = lazy(r"RTX PRO \d|RTX (?:40|50)\d0\b|RTX \d{4} Ada|\bL40S?\b|\bL4\b", re.IGNORECASE)
_STATIC_BAR1 = "RMForceStaticBar1=1"


def redirects(tree: PcieTree | None) -> tuple[tuple[PcieDevice, Quote], ...]:
    """Return the bridges above GPUs that redirect peer requests, with the line that says so.

    A pasted excerpt may hold an ACSCtl line without the bridge's address; it counts, since people paste it for its
    meaning. With addresses, only bridges above a GPU count.
    """
    if tree is None:
        return ()
    above = {b.address for g in tree.gpus for b in tree.above(g)}
    found = []
    for d in tree.devices:
        if d.acs_quote is None or not any(bit in d.acs for bit in REDIRECT):
            continue
        if not d.address or (d.bridge and (d.address in above or not tree.gpus)):
            found.append((d, d.acs_quote))
    return tuple(found)


def redirect_number(logs: Logs) -> tuple[Quote, ...]:
    """Return lines with the ACS control register as a number that has a redirect bit (0x4 request, 0x8 completion)."""
    return tuple(h.quote for h in logs.find(launch.ACS_NUMBER) if int(h.groups["bits"], 16) & 0xC)


def refused(logs: Logs, gpus: Gpus | None) -> dict[str, Quote]:
    """Return the GPUs, by address, whose requests the IOMMU refused, with the line that says so."""
    known = {g.bus_id[-7:] for g in (gpus.gpus if gpus else ()) if g.bus_id}
    found: dict[str, Quote] = {}
    for hit in logs.find(device.GPU_PAGE_FAULT):
        found.setdefault(hit.groups["gpu"][-7:], hit.quote)
    for hit in logs.find(device.DEVICE_PAGE_FAULT):
        address = hit.groups.get("amd") or hit.groups.get("intel") or ""
        if address in known:
            found.setdefault(address, hit.quote)
    return found


def iommu_off(command_line: KernelCommandLine | None, iommu: Iommu | None) -> bool:
    """Return whether no IOMMU is at work: none under /sys/class/iommu, or the kernel was told so."""
    if iommu is not None:
        return not iommu.units
    options = (("iommu", "off"), ("amd_iommu", "off"), ("intel_iommu", "off"))
    return command_line is not None and any(command_line.value(n) == v for n, v in options)


def translation(
    iommu: Iommu | None, command_line: KernelCommandLine | None, kernel: KernelLog | None
) -> tuple[Quote, ...]:
    """Return the lines that show an IOMMU that translates the GPUs' addresses; () when it is off, or passes through.

    `Default domain type: Translated` is printed even with `iommu=off`, so the line alone says nothing.
    """
    if iommu_off(command_line, iommu):
        return ()
    if command_line and command_line.value("iommu") == "pt":
        return ()
    if iommu and iommu.units and iommu.quote:
        kinds = set(iommu.group_types)
        return () if kinds == {"identity"} else (iommu.quote,)
    if kernel and kernel.iommu_active and kernel.iommu_domain != "Passthrough":
        return kernel.iommu_active[:1]
    if command_line and not (kernel and kernel.iommu_domain == "Passthrough"):
        asked = any(command_line.value(name) == "on" for name in ("intel_iommu", "amd_iommu"))
        return (command_line.quote,) if asked else ()
    return ()


def words(
    found: tuple[tuple[PcieDevice, Quote], ...], translating: tuple[Quote, ...], numbers: tuple[Quote, ...] = ()
) -> str:
    """Return in words what stands in the way."""
    parts = []
    if found or numbers:
        where = ", ".join(d.address for d, _ in found[:3] if d.address)
        parts.append(f"bridges{f' ({where})' if where else ''} redirect peer requests")
    if translating:
        parts.append("the IOMMU translates addresses")
    return " and ".join(parts) or "nothing stands in the way"


def passing_arm(nccl: NcclLog | None, jobs: JobResults | None) -> Quote | None:
    """Return the result of a run with P2P off, beside another run that used it: then P2P makes the difference."""
    off = {s.quote.source for s in (nccl.settings if nccl else ()) if s.name == "NCCL_P2P_DISABLE" and s.value == "1"}
    on = {c.quote.source for c in (nccl.channels if nccl else ()) if c.transport.startswith("P2P")}
    if not on - off:
        return None
    ended = (j for j in (jobs.jobs if jobs else ()) if j.measured or j.exit_status == 0)
    return next((j.quote for j in ended if j.quote.source in off), None)


def consumer(names: Sequence[str]) -> bool:
    """Return whether the boards are GeForce, for which NVIDIA's driver offers no P2P since the 40 series."""
    return bool(names) and all(_CONSUMER.search(n) for n in names)


def names(gpus: Gpus | None, logs: Logs | None) -> tuple[str, ...]:
    """Return the boards' names: from nvidia-smi, or from the head that nccl-tests or CUDA's sample prints."""
    known = tuple(g.name for g in (gpus.gpus if gpus else ()) if g.name)
    heads = logs.find(launch.NCCL_TESTS_DEVICE, launch.PEER_SAMPLE_DEVICE) if logs else ()
    return known or tuple(h.groups["name"].strip() for h in heads)


def without_nvlink(names: Sequence[str]) -> bool:
    """Return whether all boards are of models that have no NVLink, so that PCIe alone joins them."""
    return bool(names) and all(_NO_NVLINK.search(n) for n in names)


def series(names: Sequence[str], *numbers: str) -> bool:
    """Return whether all boards are GeForce boards of one of the series, e.g. `50`."""
    pattern = re.compile(rf"RTX (?:{'|'.join(numbers)})\d0\b", re.IGNORECASE)
    return bool(names) and all(pattern.search(n) for n in names)


def offers_no_p2p(names: Sequence[str], driver: str) -> bool:
    """Return whether NVIDIA's own driver offers no P2P on these boards: GeForce 50, and 40 since 525.105.

    Before that the driver offered it on the 40 series, where it does not work (NVIDIA/nccl-tests 117).
    """
    numbers = [int(n) for n in re.findall(r"[0-9]{1,6}", driver)[:2]]
    return series(names, "50") or (series(names, "40") and tuple(numbers) >= _WITHDRAWN)


def offers_broken_p2p(names: Sequence[str], driver: str) -> bool:
    """Return whether NVIDIA's driver offers P2P on these boards and it does not work: GeForce 40 before 525.105."""
    return bool(driver) and series(names, "40") and not offers_no_p2p(names, driver)


def patched(kernel: KernelLog | None) -> tuple[Quote, ...]:
    """Return the module load lines that name a P2P-patched build."""
    lines = kernel.nvidia_loaded if kernel else ()
    return tuple(q for q in lines if re.search(r"p2p", q.text, re.IGNORECASE))


def patch_keys(params: DriverParams | None) -> tuple[str, ...]:
    """Return the registry keys for forced P2P that the loaded module was given."""
    value = params.params.get("RegistryDwords", "") if params else ""
    return tuple(k for k in value.replace(",", ";").split(";") if k.strip().split("=")[0] in _PATCH_KEYS)


def static_bar1(params: DriverParams | None) -> bool:
    """Return whether the module maps all memory through BAR1 at start."""
    return params is not None and _STATIC_BAR1 in params.params.get("RegistryDwords", "").replace(" ", "")
