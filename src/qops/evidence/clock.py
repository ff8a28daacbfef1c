"""How a host's clock stands to the clock of the machine that asked it."""

from typing import Annotated

from msgspec import Meta, Struct

_Seconds = Annotated[float, Meta(ge=-1e11, le=1e11)]  # a bundle may say anything, and dates end somewhere


class HostClock(Struct, frozen=True):
    """A host's clock, from the times at which a question was sent, read there and answered.

    All in seconds. The true difference lies between `ahead - within` and `ahead + within`, whatever of the round trip
    was the way there and what the way back.
    """

    ahead: _Seconds  # of the machine that asked; negative: the host's clock is behind
    within: _Seconds  # half of the round trip
    boot: Annotated[float, Meta(ge=0, le=1e11)]  # when the host booted, by its own clock, since the epoch
    zone: Annotated[int, Meta(ge=-86400, le=86400)]  # east of UTC


def measured(sent: float, there: float, received: float, *, boot: float, zone: int) -> HostClock:
    """Return the clock of a host that read `there` on it, between `sent` and `received` by the clock here (epoch)."""
    return HostClock(round(there - (sent + received) / 2, 6), round((received - sent) / 2, 6), round(boot, 2), zone)
