"""Results of `qops probe p2p`, made by hand."""

from qops.evidence.peer_probe import Outcome, PeerArm, PeerGroup, PeerProbe, PeerSize
from qops.evidence.text import Quote

QUOTE = Quote("/var/lib/qops/probes/p2p.json", 1, '{"qops_probe":"p2p"')
LARGE = 256 << 20


def group(*gpus: int, by: str = "P2P/CUMEM", seconds: float | None = 0.002, wrong: int | None = 0) -> PeerGroup:
    sizes = (PeerSize(8 << 10, 0.00004, 0), PeerSize(LARGE, seconds, wrong))
    return PeerGroup(gpus, (by,) if by else (), sizes)


def arm(name: str, outcome: Outcome = Outcome.RIGHT, *groups: PeerGroup) -> PeerArm:
    forced = {"off": {"NCCL_P2P_DISABLE": "1"}, "wide": {"NCCL_P2P_LEVEL": "SYS"}}
    return PeerArm(name, outcome, forced.get(name, {}), 21.5, groups or (group(0, 1),))


HUNG = arm("as is", Outcome.HUNG, group(0, 1, seconds=None))
OFF = arm("off", Outcome.RIGHT, group(0, 1, by="SHM/direct/direct", seconds=0.012))


def probe(*arms: PeerArm, driver: str = "580.126.09", gpus: tuple[str, ...] = ("GPU-a1", "GPU-b2")) -> PeerProbe:
    return PeerProbe(
        QUOTE,
        host="rtx-7",
        at="2026-10-02T08:15:00+00:00",
        driver=driver,
        kernel="6.8.0-85-generic",
        nccl="2.28.9",
        torch="2.11.0+cu130",
        gpus={uuid: index for index, uuid in enumerate(gpus)},
        arms=arms,
    )
