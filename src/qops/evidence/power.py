"""What a host remembers of GPU settings that the driver does not tell."""

from msgspec import Struct

from qops.evidence.text import Quote


class ClockLocks(Struct, frozen=True):
    """What qops-gpu-power last did to each GPU's clocks, since boot: by UUID "MIN,MAX" in MHz, or "unlocked".

    nvidia-smi sets locked clocks and shows them nowhere.
    """

    locks: dict[str, str]
    quote: Quote | None = None
