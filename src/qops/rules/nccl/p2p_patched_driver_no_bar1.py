"""NCL010: a P2P-patched kernel module without a static BAR1 of the whole memory."""

from collections.abc import Iterator

from qops.data.messages import launch
from qops.data.messages import nccl as messages
from qops.derive import p2p, platform, stall
from qops.evidence.engine import EngineLogs, JobResults
from qops.evidence.gpu import DriverParams, Gpu, Gpus, GpuSamples, P2pStatus
from qops.evidence.kernel import KernelLog
from qops.evidence.message import Logs, quotes
from qops.evidence.nccl import NcclLog, Ras
from qops.evidence.text import Quote
from qops.evidence.torch import TorchLog
from qops.rule import Confidence, Fix, Found, Role, RuledOut, Severity, rule


@rule(
    "NCL010",
    "p2p-patched-driver-no-bar1",
    explains=(
        "collective-hang",
        "watchdog-timeout",
        "shm-broadcast-wait",
        "engine-stalled",
        "nccl-error",
        "cuda-error",
        "job-failed",
        "engine-silent-at-nccl",
        "engine-core-failed",
    ),
    fix=(
        Fix(
            "give the patched module a static BAR1 of the whole memory: Above 4G decoding and resizable BAR in the "
            "firmware, and RegistryDwords RMForceStaticBar1=1 and PeerMappingOverride=1",
            commands=("grep RegistryDwords /proc/driver/nvidia/params", "nvidia-smi -q | grep -A3 'BAR1 Memory'"),
            needs_reboot=True,
            risk="a patched module is unsupported by NVIDIA",
        ),
        Fix("go back to NVIDIA's module, or NCCL_P2P_DISABLE=1 with --disable-custom-all-reduce", kind="workaround"),
    ),
)
def p2p_patched_driver_no_bar1(
    logs: Logs,
    gpus: Gpus | None,
    status: P2pStatus | None,
    params: DriverParams | None,
    kernel: KernelLog | None,
    nccl: NcclLog | None,
    samples: GpuSamples | None,
    torch: TorchLog | None,
    ras: Ras | None,
    engines: EngineLogs | None,
    jobs: JobResults | None,
) -> Iterator[Found | RuledOut]:
    """A P2P-patched kernel module without a static BAR1 of the whole memory."""
    told = logs.find(messages.PEER_MAP_ALIGNMENT)
    if told:
        failed = logs.find(messages.PEER_MAP_FAILED)
        message = "the kernel module cannot map one GPU's memory for the other through BAR1"
        yield Found("GPUs", message, (*quotes(told, 2), *quotes(failed, 1)), Confidence.CERTAIN)
        return
    offered = p2p.offered(status, nccl, logs)
    small = [
        g for g in (gpus.gpus if gpus else ()) if g.bar1_total and g.memory_total and g.bar1_total < g.memory_total
    ]
    if not small and gpus:
        small = _apart(gpus)
    unmapped = _unmapped(logs, platform.names(gpus, logs), small=bool(small))
    if unmapped and not platform.static_bar1(params):
        where = f"; BAR1 of GPU {small[0].index} is {(small[0].bar1_total or 0) >> 20} MiB" if small else ""
        yield Found(
            "GPUs",
            f"one GPU's memory cannot be mapped for another (CUDA error 205), as when a patched module offers P2P and "
            f"BAR1 does not hold the whole memory{where}",
            (*unmapped, *(g.quote for g in small[:1])),
            Confidence.LIKELY,
        )
        return
    signs = _patched(gpus, logs, params, kernel, offered, small=bool(small))
    if not signs:
        return
    if platform.static_bar1(params) or stall.works(jobs, engines):
        yield RuledOut("the patched module has its static BAR1, or collectives ended", signs[:1])
        return
    stood = stall.signs(logs, nccl, gpus, samples, torch, engines)
    uneven = stall.lag(ras, torch)
    if stood and uneven:
        yield RuledOut("ranks wait at different operations, so the path between GPUs is not what holds them", (uneven,))
        return
    where = f"; BAR1 of GPU {small[0].index} is {(small[0].bar1_total or 0) >> 20} MiB" if small else ""
    if stood:
        confidence = Confidence.LIKELY if small or params is not None else Confidence.POSSIBLE
        message = f"a patched module offers P2P without a static BAR1, and {stood[0].text}{where}"
        yield Found(
            "GPUs",
            message,
            (*signs[:2], stood[0].quote, *(q for g in small[:1] for q in g.said("bar1_total"))),
            confidence,
        )
    elif small:
        yield Found(
            "GPUs",
            f"a patched module offers P2P without a static BAR1{where}; nothing seen shows a hang",
            (*signs[:2], *small[0].said("bar1_total")),
            Confidence.POSSIBLE,
            severity=Severity.WARNING,
            role=Role.CONTRIBUTING,
        )


def _apart(gpus: Gpus) -> list[Gpu]:
    """Return the GPUs whose BAR1 is smaller than any memory shown, where pasted pieces do not say whose BAR1 it is."""
    bars = [g for g in gpus.gpus if g.bar1_total and not g.memory_total]
    sizes = [g.memory_total for g in gpus.gpus if g.memory_total]
    return [g for g in bars if sizes and (g.bar1_total or 0) < min(sizes)]


def _unmapped(logs: Logs, names: tuple[str, ...], *, small: bool) -> tuple[Quote, ...]:
    """Return where mapping a peer's memory failed: a call for peer access says so, or BAR1 is too small on GeForce."""
    told = logs.find(launch.PEER_ENABLE_FAILED)
    failed = logs.find(messages.PEER_MAP_FAILED)
    consumer = len(names) > 1 and platform.consumer(names)
    if failed and (told or (small and consumer)) and (consumer or not names):
        return quotes(failed, 2)
    return ()


def _patched(
    gpus: Gpus | None,
    logs: Logs,
    params: DriverParams | None,
    kernel: KernelLog | None,
    offered: tuple[Quote, ...],
    *,
    small: bool,
) -> tuple[Quote, ...]:
    """Return what shows a patched module. NVIDIA's own offers no P2P on GeForce 40 and 50, so an OK there does."""
    lines = platform.patched(kernel)
    keys = platform.patch_keys(params)
    if keys and params:
        return (*lines, Quote(params.source, 0, f"RegistryDwords: {'; '.join(keys)}"))
    names = platform.names(gpus, logs)
    driver = gpus.driver if gpus and gpus.driver else ""
    # A small BAR1 beside P2P on the 40 series is what people show of a patched module, when no version is named.
    unnamed = small and not driver and platform.series(names, "40")
    if offered and (unnamed or platform.offers_no_p2p(names, driver)):
        return (*lines, offered[0])
    return lines if offered else ()
