"""NCL071: a probe measured peer-to-peer as slower than the way through the processor's memory."""

from collections.abc import Iterator

from qops.derive import peer_probe as derived
from qops.derive.cuda_compat import host_driver
from qops.evidence.gpu import DriverModule, Gpus
from qops.evidence.peer_probe import Outcome, PeerProbe
from qops.rule import Confidence, Fix, Found, Role, RuledOut, Severity, rule

SLOWER = 0.7  # part of the other rate; two runs of one probe differed by less than a tenth


@rule(
    "NCL071",
    "p2p-slower-than-shared-memory",
    severity=Severity.WARNING,
    role=Role.CONTRIBUTING,
    fix=(
        Fix(
            "see whether a bridge redirects the requests or a link is narrow, and mend that",
            commands=("sudo qops diagnose nccl --select NCL007,NCL008 -v", "sudo qops diagnose host --select HST011"),
        ),
        Fix("NCCL_P2P_DISABLE=1 for this service, and --disable-custom-all-reduce", kind="workaround"),
    ),
)
def p2p_slower_than_shared_memory(
    probe: PeerProbe, gpus: Gpus | None, module: DriverModule | None
) -> Iterator[Found | RuledOut]:
    """A probe measured peer-to-peer as slower than the way through the processor's memory."""
    off = probe.arm("off")
    if off is None or off.outcome is not Outcome.RIGHT or derived.outdated(probe, gpus, host_driver(module, gpus)):
        return
    without = {group.gpus: derived.rate(group) for group in off.groups}
    direct = next((arm for arm in probe.arms if derived.passed(arm)), None)
    for group in direct.groups if direct else ():
        fast, slow = without.get(group.gpus), derived.rate(group)
        if len(group.gpus) == 2 and fast and slow and slow < SLOWER * fast:
            yield Found(
                " and ".join(f"GPU {index}" for index in group.gpus),
                f"{slow:.1f} GB/s by peer-to-peer, and {fast:.1f} GB/s without it, on {probe.at[:10]}",
                (probe.quote,),
                Confidence.CERTAIN,
            )
