"""NCL070: a probe of this machine hung or got wrong data with peer-to-peer, and was right without it."""

from collections.abc import Iterator

from qops.derive import peer_probe as derived
from qops.derive.cuda_compat import host_driver
from qops.evidence.gpu import DriverModule, Gpus
from qops.evidence.peer_probe import PeerProbe
from qops.rule import Confidence, Fix, Found, RuledOut, rule


@rule(
    "NCL070",
    "p2p-probe-failed",
    explains=(
        "collective-hang",
        "watchdog-timeout",
        "shm-broadcast-wait",
        "engine-stalled",
        "engine-silent-at-nccl",
        "job-failed",
        "engine-core-failed",
    ),
    fix=(
        Fix(
            "take away what redirects or translates peer-to-peer below the GPUs (ACS, IOMMU), then probe again",
            commands=("ansible-playbook site.yml --tags pcie_p2p --limit HOST", "sudo qops probe p2p --image IMAGE"),
            needs_reboot=True,
            variable="pcie_p2p_acs",
            tag="pcie_p2p",
        ),
        Fix(
            "NCCL_P2P_DISABLE=1, and --disable-custom-all-reduce for the engine: `qops plan --recipe` sets both now",
            kind="workaround",
            risk="slower all-reduces, through shared memory",
        ),
    ),
)
def p2p_probe_failed(probe: PeerProbe, gpus: Gpus | None, module: DriverModule | None) -> Iterator[Found | RuledOut]:
    """A probe of this machine hung or got wrong data with peer-to-peer, and was right without it."""
    driver = host_driver(module, gpus)
    if derived.outdated(probe, gpus, driver):
        return
    if bad := derived.failing(probe):
        culprit = derived.culprit(bad)
        names = ", ".join(f"GPU {index}" for index in culprit.gpus) if culprit else "GPUs"
        yield Found(
            names,
            f"an all-reduce with peer-to-peer {'hung' if bad.outcome == 'hung' else 'gave wrong data'} on "
            f"{probe.at[:10]}, and was right without it (driver {probe.driver}, NCCL {probe.nccl})",
            (probe.quote,),
            Confidence.CERTAIN,
        )
    elif any(derived.passed(arm) for arm in probe.arms):
        yield RuledOut(f"peer-to-peer gave right data between all pairs on {probe.at[:10]}", (probe.quote,))
