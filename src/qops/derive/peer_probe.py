"""What a probe of peer-to-peer proves on a machine as it is now."""

from qops.derive.nccl_environment import Probed
from qops.evidence.gpu import Gpus
from qops.evidence.peer_probe import Outcome, PeerArm, PeerGroup, PeerProbe


def outdated(probe: PeerProbe, gpus: Gpus | None, driver: str) -> str:
    """Return why a probe says nothing of the machine any more, as a clause, or "". What was not seen changes nothing.

    NCCL's own release may differ: what a probe tries is the machine's paths.
    """
    if driver and probe.driver and driver != probe.driver:
        return f"the driver was {probe.driver} when it was probed, and is {driver}"
    here = {gpu.uuid for gpu in gpus.gpus if gpu.uuid} if gpus else set()
    if here and probe.gpus and (gone := sorted(set(probe.gpus) - here)):
        return f"{len(gone)} of the GPUs that were probed are not in the machine any more"
    return ""


def probed(probe: PeerProbe | None, gpus: Gpus | None, driver: str) -> Probed:
    """Return what was proved of peer-to-peer between `gpus`, which may be some of a machine's."""
    if probe is None or outdated(probe, None, driver):
        return Probed.NEVER
    wanted = {gpu.uuid for gpu in gpus.gpus if gpu.uuid} if gpus else set()
    if not wanted <= set(probe.gpus):
        return Probed.NEVER  # one of them was not there, or not tried
    if any(passed(arm) for arm in probe.arms):
        return Probed.PASSED
    return Probed.FAILED if failing(probe) else Probed.NEVER


def passed(arm: PeerArm) -> bool:
    """Return whether every pair of an attempt went over peer-to-peer, with the right data."""
    pairs = [group for group in arm.groups if len(group.gpus) == 2]
    return arm.outcome is Outcome.RIGHT and bool(pairs) and all(direct(pair) for pair in pairs)


def direct(group: PeerGroup) -> bool:
    """Return whether a group's GPUs reached each other by peer-to-peer alone."""
    return bool(group.transports) and all(one.startswith("P2P") for one in group.transports)


def failing(probe: PeerProbe) -> PeerArm | None:
    """Return the attempt that hung or gave wrong data with peer-to-peer, where one without it went right.

    Without that comparison nobody knows whether peer-to-peer was the reason.
    """
    off = probe.arm("off")
    if off is None or off.outcome is not Outcome.RIGHT:
        return None
    bad = [arm for arm in probe.arms if arm.name != "off" and arm.outcome in (Outcome.WRONG, Outcome.HUNG)]
    return next((arm for arm in bad if any(_by_peers(group) for group in arm.groups)), None)


def _by_peers(group: PeerGroup) -> bool:
    return any(one.startswith("P2P") for one in group.transports)


def culprit(arm: PeerArm) -> PeerGroup | None:
    """Return the smallest group of an attempt that got wrong data or did not end."""
    bad = [g for g in arm.groups if any(size.wrong or size.seconds is None for size in g.sizes)]
    return min(bad, key=lambda group: len(group.gpus), default=None)


def rate(group: PeerGroup) -> float | None:
    """Return the bus bandwidth of a group's largest all-reduce in GB/s: 2(n-1)/n times size over time, as nccl-tests.

    NVIDIA/nccl-tests, doc/PERFORMANCE.md.
    """
    done = [size for size in group.sizes if size.seconds]
    if not done or len(group.gpus) < 2:
        return None
    largest = max(done, key=lambda size: size.bytes)
    count = len(group.gpus)
    return 2 * (count - 1) / count * largest.bytes / (largest.seconds or 1.0) / 1e9
