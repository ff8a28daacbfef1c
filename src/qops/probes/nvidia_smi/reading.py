"""What one answer says about one GPU, and how several answers become one `Gpu`."""

from collections.abc import Iterable
from typing import Any

from msgspec import Struct, field

from qops.evidence.gpu import Gpu, GpuProcess
from qops.evidence.text import Quote, Text

UNKNOWN = -1  # the index of a GPU that an excerpt does not name
_NAMES = frozenset(Gpu.__struct_fields__) - {"index", "quote", "throttle", "places"}
# What findings speak of, beside the reasons to throttle: of the rest nobody asks for the line.
_CITED = frozenset(
    {
        *("link_gen", "link_width", "ecc_uncorrected", "remap_pending", "remap_failed", "bar1_total"),
        *("fabric_state", "fabric_status", "recovery_action"),
    }
)


class Reading(Struct):
    """One GPU in one answer, filled while it is read. `values` holds what was said, by the field of `Gpu`."""

    quote: Quote
    index: int = UNKNOWN
    values: dict[str, Any] = field(default_factory=dict)
    throttle: tuple[str, ...] | None = None
    at: float | None = None
    places: dict[str, Quote] = field(default_factory=dict)  # of what is said on a line of its own
    here: tuple[Text, int] | None = None  # the line that is read, where each value has one

    def say(self, name: str, value: Any) -> None:
        """Note a value; the first that says something stays."""
        if value is not None and value != "" and name in _NAMES and name not in self.values:
            self.values[name] = value
            if name in _CITED:
                self._place(name)

    def add(self, name: str, value: int | None) -> None:
        """Add to a count, such as errors of several memories."""
        if value is not None:
            self.values[name] = min(self.values.get(name, 0) + value, 2**63)
            if value:
                self._place(name)

    def limit(self, reason: str, active: bool) -> None:
        """Note whether a reason that holds the clocks down is active."""
        known = self.throttle or ()
        self.throttle = (*known, reason) if active and reason not in known else known
        if active:
            self._place(reason)

    def _place(self, name: str) -> None:
        if self.here is not None and name not in self.places:
            text, index = self.here
            self.places[name] = text.quote(index)

    @property
    def telling(self) -> bool:
        """Whether anything was said at all."""
        return bool(self.values) or self.throttle is not None

    def is_same(self, other: "Reading") -> bool:
        """Whether both are about one GPU: something that names it agrees, and nothing that names it differs."""
        agree = False
        for mine, theirs in (
            (self.index if self.index != UNKNOWN else None, other.index if other.index != UNKNOWN else None),
            (self.values.get("bus_id"), other.values.get("bus_id")),
            (self.values.get("uuid"), other.values.get("uuid")),
        ):
            if mine is None or theirs is None:
                continue
            if mine != theirs:
                return False
            agree = True
        return agree

    def take(self, other: "Reading") -> None:
        """Fill what is missing here with what `other` says."""
        for name, value in other.values.items():
            if name not in self.values:
                self.values[name] = value
                if name in other.places:
                    self.places[name] = other.places[name]
        if self.index == UNKNOWN:
            self.index = other.index
        if self.throttle is None:
            self.throttle = other.throttle
            self.places |= {name: other.places[name] for name in other.throttle or () if name in other.places}

    def gpu(self) -> Gpu:
        """Return the evidence."""
        throttle, places = self.throttle or (), tuple(self.places.items())
        return Gpu(index=self.index, quote=self.quote, throttle=throttle, places=places, **self.values)


class Answer(Struct):
    """What one text says: the GPUs in it, and what it says about the host."""

    readings: list[Reading] = field(default_factory=list)
    driver: str = ""
    cuda: str = ""
    attached: int | None = None
    processes: list[GpuProcess] | None = None
    quote: Quote | None = None

    @property
    def telling(self) -> bool:
        """Whether anything was said at all."""
        return bool(
            self.driver or self.cuda or self.attached is not None or self.processes is not None or self.readings
        )

    def process(self, found: GpuProcess) -> None:
        """Add a process."""
        if self.processes is None:
            self.processes = []
        self.processes.append(found)

    def absorb(self, other: "Answer") -> None:
        """Add another answer from the same host; what is known already stays."""
        self.readings += other.readings
        self.driver = self.driver or other.driver
        self.cuda = self.cuda or other.cuda
        self.attached = self.attached if self.attached is not None else other.attached
        self.quote = self.quote or other.quote
        if other.processes is not None:
            mine = self.processes or []
            seen = {(p.pid, p.gpu) for p in mine}
            self.processes = mine + [p for p in other.processes if (p.pid, p.gpu) not in seen]


def merge(readings: Iterable[Reading]) -> list[Reading]:
    """Return one reading for each GPU, in the order of their indexes, those without one last."""
    merged: list[Reading] = []
    by_name: dict[Any, list[Reading]] = {}
    for reading in readings:
        if not reading.telling:
            continue
        names = _names(reading)
        known = next((r for n in names for r in by_name.get(n, ()) if r.is_same(reading)), None)
        if known is None:
            known = reading
            merged.append(reading)
        else:
            known.take(reading)
        for name in _names(known):
            places = by_name.setdefault(name, [])
            if not any(r is known for r in places) and len(places) < 16:
                places.append(known)
    return sorted(merged, key=lambda r: (r.index == UNKNOWN, r.index))


def _names(reading: Reading) -> list[tuple[str, Any]]:
    names: list[tuple[str, Any]] = [(n, reading.values[n]) for n in ("bus_id", "uuid") if n in reading.values]
    return names + ([("index", reading.index)] if reading.index != UNKNOWN else [])
