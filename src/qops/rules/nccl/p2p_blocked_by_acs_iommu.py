"""NCL007: ACS redirect or IOMMU translation above the GPUs breaks PCIe P2P, and collectives never end."""

from collections.abc import Iterator

from qops.data.messages import rdma
from qops.derive import p2p, platform, stall
from qops.derive.peer_probe import passed
from qops.evidence.engine import EngineLogs, JobResults
from qops.evidence.gpu import Gpus, GpuSamples, P2pStatus, PeerRates, Topology
from qops.evidence.kernel import Iommu, KernelCommandLine, KernelLog, System
from qops.evidence.message import Logs
from qops.evidence.nccl import NcclLog, Ras
from qops.evidence.pcie import PcieTree
from qops.evidence.peer_probe import PeerProbe
from qops.evidence.process import Environment
from qops.evidence.text import Quote
from qops.evidence.torch import TorchLog
from qops.rule import Confidence, Fix, Found, Role, RuledOut, Severity, rule


@rule(
    "NCL007",
    "p2p-blocked-by-acs-iommu",
    explains=(
        "collective-hang",
        "watchdog-timeout",
        "shm-broadcast-wait",
        "engine-stalled",
        "nccl-p2p-level-forced",
        "custom-allreduce-unsupported",
        "ib-completion-error",
        "job-failed",
        "engine-silent-at-nccl",
        "engine-core-failed",
    ),
    fix=(
        Fix(
            "switch the IOMMU off in the firmware, or with `amd_iommu=off` (Intel: `intel_iommu=off`) on the kernel's "
            "command line",
            risk="devices lose DMA isolation, and passthrough to virtual machines stops working",
            needs_reboot=True,
        ),
        Fix(
            "or clear ACS redirect on every bridge above a GPU, at each boot; never inside a virtual machine",
            commands=("lspci -d ::0604 -vvv | grep -E '^[0-9a-f]|ACSCtl'", "setpci -s BRIDGE ECAP_ACS+0x6.w=0000:000c"),
            risk="devices below one bridge can then reach each other without the IOMMU's check",
            variable="pcie_p2p_acs",
            tag="pcie_p2p",
        ),
        Fix(
            "NCCL_P2P_DISABLE=1, and also --disable-custom-all-reduce: the engine's own all-reduce uses P2P as well",
            kind="workaround",
            risk="GPUs talk through shared memory, which is slower",
        ),
    ),
)
def p2p_blocked_by_acs_iommu(
    topology: Topology | None,
    status: P2pStatus | None,
    tree: PcieTree | None,
    iommu: Iommu | None,
    command_line: KernelCommandLine | None,
    kernel: KernelLog | None,
    system: System | None,
    logs: Logs,
    nccl: NcclLog | None,
    environment: Environment | None,
    gpus: Gpus | None,
    samples: GpuSamples | None,
    torch: TorchLog | None,
    ras: Ras | None,
    engines: EngineLogs | None,
    jobs: JobResults | None,
    rates: PeerRates | None,
    probe: PeerProbe | None,
) -> Iterator[Found | RuledOut]:
    """ACS redirect or IOMMU translation above the GPUs breaks PCIe P2P: NCCL, and the engine's all-reduce, hang."""
    adapter = _adapter(logs, tree)
    if adapter:
        message = (
            "an RDMA adapter may not access the memory that it was given, and bridges redirect what it sends to a GPU"
        )
        yield Found("GPUs and adapters", message, adapter, Confidence.LIKELY)
        return
    far = p2p.far_pairs(topology)
    if p2p.has_nvlink(topology) or (topology is not None and not topology.pairs):
        return
    stood = stall.signs(logs, nccl, gpus, samples, torch, engines)
    uneven = stall.lag(ras, torch)
    if stood and uneven:
        yield RuledOut("ranks wait at different operations, so the path between GPUs is not what holds them", (uneven,))
        return
    redirects = platform.redirects(tree)
    translation = platform.translation(iommu, command_line, kernel)
    numbers = platform.redirect_number(logs)
    p2p_used = p2p.offered(status, nccl, logs)
    arm = platform.passing_arm(nccl, jobs)
    if not arm and stall.works(jobs, engines) and p2p.used(nccl, "P2P"):
        if redirects or numbers or translation:
            yield RuledOut("collectives ended over P2P", p2p.used(nccl, "P2P")[:1])
        return
    if system and system.hypervisor:
        return  # ACS belongs on in a virtual machine, and the hypervisor's tables are not seen from inside
    off = p2p.switched("NCCL_P2P_DISABLE", environment, nccl)
    at = stall.in_capture(logs)
    if off and at and far and redirects and not arm and not stall.custom_allreduce_off(logs, engines):
        yield Found(
            "GPUs",
            f"{platform.words(redirects, translation, numbers)}, and graph capture stands although NCCL's P2P is off: "
            "the engine's own all-reduce still uses P2P",
            (far[0].quote, redirects[0][1], at, off.quote),
            Confidence.LIKELY,
        )
        return
    if p2p.used(nccl, "SHM") and not p2p.used(nccl, "P2P"):
        if stood and (redirects or numbers or translation):
            yield RuledOut("the ranks talk through shared memory, so P2P carries nothing", p2p.used(nccl, "SHM")[:1])
        return
    if platform.iommu_off(command_line, iommu) and not redirects and not numbers:
        if stood and far:
            shown = (command_line.quote,) if command_line else ()
            yield RuledOut("the IOMMU is off and no bridge redirects", shown)
        return
    faults = tuple(platform.refused(logs, gpus).values())
    unlinked = platform.without_nvlink(platform.names(gpus, logs))
    level = p2p.level(environment, nccl, system, p2p.group_size(nccl, topology))
    if (
        (level.value == "LOC" and not arm)
        or (topology is None and not redirects and not numbers and not faults and not unlinked)
        or (topology is not None and not far)
    ):
        return
    platform_says = tuple(dict.fromkeys((*(q for _, q in redirects[:2]), *numbers[:1], *faults[:1], *translation[:1])))
    path = f"{far[0].a} and {far[0].b} meet at {far[0].path}" if far else "the GPUs sit below bridges"
    what = platform.words(redirects, translation, numbers)
    strong = [s for s in stood if s.kind != "silence"]
    evidence = (*(p.quote for p in far[:1]), *platform_says, *(s.quote for s in stood[:2]), *p2p_used[:1])
    if stood and platform_says and (strong or p2p_used):
        confidence = Confidence.CERTAIN if arm else Confidence.LIKELY
        ended = "; the same job ends with P2P off" if arm else ""
        told = (*evidence, arm) if arm else evidence
        yield Found("GPUs", f"{path} and {what}, and {stood[0].text}{ended}", told, confidence)
    elif (
        strong
        and p2p_used
        and far
        and not level.forced
        and not platform.consumer(platform.names(gpus, logs))
        and not platform.patched(kernel)
    ):
        message = f"{path}, the driver allows P2P, and {strong[0].text}; IOMMU and ACS were not seen"
        yield Found("GPUs", message, evidence, Confidence.POSSIBLE)
    elif faults and (p2p.used(nccl, "P2P") or len(faults) > 1):
        # One GPU's fault may be its program's; a second GPU's, or P2P in use, says for whom the requests were.
        yield Found(
            "GPUs",
            "the IOMMU refuses what " + ("the GPUs send" if len(faults) > 1 else "a GPU sends while NCCL uses P2P"),
            (*faults[:2], *p2p.used(nccl, "P2P")[:1]),
            Confidence.LIKELY if p2p.used(nccl, "P2P") else Confidence.POSSIBLE,
        )
    elif (redirects or numbers) and far and stood and samples is None:
        # A log that ends is weak, and a live host would show its GPUs: only pasted evidence is judged so.
        yield Found(
            "GPUs",
            f"{path} and {what}, and {stood[0].text}",
            evidence,
            Confidence.POSSIBLE,
            severity=Severity.WARNING,
        )
    elif (redirects or numbers) and far and not stood and probe and any(map(passed, probe.arms)):
        yield RuledOut(f"a probe moved the right data between all pairs by P2P on {probe.at[:10]}", (probe.quote,))
    elif (redirects or numbers) and far and not stood and rates is None and not platform.iommu_off(command_line, iommu):
        # Without an IOMMU a redirected request is sent on: it takes longer and arrives.
        yield Found(
            "GPUs",
            f"{path} and {what}: P2P between them would not arrive; nothing seen shows a hang",
            evidence,
            Confidence.POSSIBLE,
            severity=Severity.WARNING,
            role=Role.CONTRIBUTING,
        )


def _adapter(logs: Logs, tree: PcieTree | None) -> tuple[Quote, ...]:
    """Return a transfer that failed on the adapter's own side (IBV_WC_LOC_PROT_ERR), beside redirecting bridges.

    With GPUDirect RDMA the adapter is a peer of the GPU, and redirection breaks its way as well (NVIDIA/nccl 214, 304).
    """
    denied = next((h for h in logs.find(rdma.IB_COMPLETION) if h.groups["status"] == "4"), None)
    found = (*(q for _, q in platform.redirects(tree)), *platform.redirect_number(logs))
    return (denied.quote, *found[:2]) if denied and found else ()
