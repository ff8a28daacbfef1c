"""What `qops probe p2p` measured: all-reduces whose data was checked, with peer-to-peer and without it."""

from enum import StrEnum

from msgspec import Struct

from qops.evidence.text import Quote


class Outcome(StrEnum):
    """How one attempt ended."""

    RIGHT = "right"
    WRONG = "wrong data"
    HUNG = "hung"
    FAILED = "failed"


class PeerSize(Struct, frozen=True):
    """All-reduces of one size. `bytes` a rank, `seconds` for one; None: it did not end. `wrong` counts elements."""

    bytes: int
    seconds: float | None = None
    wrong: int | None = None


class PeerGroup(Struct, frozen=True):
    """One group of GPUs that reduced together. `gpus` are indexes as nvidia-smi has them."""

    gpus: tuple[int, ...]
    transports: tuple[str, ...] = ()  # as NCCL named them: "P2P/CUMEM", "SHM/direct/direct"; each once
    sizes: tuple[PeerSize, ...] = ()


class PeerArm(Struct, frozen=True):
    """One attempt. `environment` holds the NCCL variables that were in force for it; `seconds` in all."""

    name: str  # "as is" | "wide" | "off"
    outcome: Outcome
    environment: dict[str, str] = {}
    seconds: float = 0.0
    groups: tuple[PeerGroup, ...] = ()
    error: str = ""  # what the program said last, of one that failed


class PeerProbe(Struct, frozen=True):
    """The newest probe of a machine, and what it was then: a result says nothing of another driver or other GPUs."""

    quote: Quote
    host: str = ""
    at: str = ""  # ISO 8601, UTC
    driver: str = ""
    kernel: str = ""
    nccl: str = ""
    torch: str = ""
    image: str = ""  # "" when it ran in a Python of the host
    gpus: dict[str, int] = {}  # UUID to index
    arms: tuple[PeerArm, ...] = ()

    def arm(self, name: str) -> PeerArm | None:
        """Return the attempt of that name, if it was made."""
        return next((arm for arm in self.arms if arm.name == name), None)
