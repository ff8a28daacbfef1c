"""When the first error of a host came, by the clock of the machine that asked: the times that log lines bear."""

import calendar
import re
import time
from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from qops.evidence.clock import HostClock
from qops.evidence.text import Quote
from qops.pattern import lazy

# Seconds by which the kernel's own times run away from its clock, per second since boot: nothing corrects them.
# Quartz of a mainboard is good for some tens of millionths; twice a usual 50 is taken.
DRIFT = 1e-4
_BEGIN = 160  # characters at the beginning of a line among which its time stands

_FRACTION = r"(?:[.,](?P<fraction>\d{1,9}))?"
_CLOCK = rf"(?P<clock>\d\d:\d\d:\d\d){_FRACTION}"
_FORMS = tuple(
    lazy(form, re.ASCII)
    for form in (
        r"^\[ *(?P<uptime>\d{1,9})\.(?P<fraction>\d{6})\] ",  # dmesg, journalctl -o short-monotonic
        # docker logs --timestamps, journalctl -o short-iso; then NCCL since 2.26 and SGLang, which name no zone
        rf"(?P<year>\d{{4}})-(?P<month>\d\d)-(?P<day>\d\d)[T ]{_CLOCK} ?(?P<zone>Z\b|[+-]\d\d:?\d\d\b)?",
        rf"\[[IWEF](?P<month>\d\d)(?P<day>\d\d) {_CLOCK} ",  # PyTorch's C++ log
        rf"\b(?:WARNING|ERROR|CRITICAL) (?P<month>\d\d)-(?P<day>\d\d) {_CLOCK}",  # vLLM
        rf"^(?P<name>[A-Z][a-z]{{2}}) (?P<day>[ \d]\d) {_CLOCK} \S",  # journald, syslog
    )
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
# A finding quotes what explains it, too: settings, versions.
_ERROR = lazy(
    r"error|critical|fatal|\bwarn|exception|\bxid\b|fail|time[d ]? ?out|killed process|abort|\[[EF]\d{4} ", re.I
)


class Moment(Struct, frozen=True):
    """When something was logged, by the clock of the machine that asked (epoch), give or take `within` seconds."""

    at: float
    within: float
    quote: Quote


def first_error(quotes: Iterable[Quote], clock: HostClock | None) -> Moment | None:
    """Return the earliest of `quotes` that tell of an error, or None where no time can be told.

    Without a measured clock none can. A time that names no zone counts only where the host's own is UTC: what runs in
    a container has a zone of its own, most often UTC.
    """
    if clock is None:
        return None
    found = [moment for quote in quotes if _ERROR.search(quote.text) and (moment := _moment(quote, clock))]
    return min(found, key=lambda moment: moment.at, default=None)


def _moment(quote: Quote, clock: HostClock) -> Moment | None:
    for form in _FORMS:
        if said := form.search(quote.text, 0, _BEGIN):
            at = _time(said.groupdict(), clock)
            break
    else:
        return None
    if at is None:
        return None
    whole = said["fraction"] is None  # a whole second may be any moment of it
    within = clock.within + (0.5 if whole else 0.0) + (DRIFT * float(said["uptime"]) if form is _FORMS[0] else 0.0)
    return Moment(at + (0.5 if whole else 0.0) - clock.ahead, within, quote)


def _time(said: dict[str, Any], clock: HostClock) -> float | None:
    """Return the time that a line bears, by the host's clock since the epoch; None when no such time exists."""
    fraction = float(f"0.{said['fraction'] or 0}")
    if said.get("uptime"):
        return clock.boot + float(said["uptime"]) + fraction
    zone = said.get("zone")
    if not zone and clock.zone:
        return None
    name, month = said.get("name"), said.get("month")
    if name and name not in _MONTHS:
        return None
    number = _MONTHS.index(name) + 1 if name else int(month or 0)
    # A year that is not told is that of the boot, or the next one where that would be before it.
    years = [int(said["year"])] if said.get("year") else [time.gmtime(clock.boot).tm_year + n for n in (0, 1)]
    east = 0 if zone in (None, "Z") else int(f"{zone[0]}1") * (int(zone[1:3]) * 3600 + int(zone[-2:]) * 60)
    for year in years:
        try:
            told = time.strptime(f"{year} {number} {int(said['day'])} {said['clock']}", "%Y %m %d %H:%M:%S")
        except ValueError:
            return None
        at = calendar.timegm(told) + fraction - east
        if at >= clock.boot - 86400 or year == years[-1]:
            return at
    return None
