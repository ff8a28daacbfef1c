"""One setting of a host: as it should be, as it is, and why. What every role's plan is made of."""

from enum import StrEnum

from msgspec import Struct


class State(StrEnum):
    """How a setting stands. Only `set` and `differs` are written."""

    SET = "set"  # as it should be
    DIFFERS = "differs"
    ABSENT = "absent"  # this host does not have it, or not this value
    LEFT = "left"  # on purpose
    UNSEEN = "unseen"  # the host did not say: nothing is known


class Setting(Struct, frozen=True):
    """One setting. `current` is "" where it was not seen, `path` may be a pattern for several files."""

    key: str
    path: str
    value: str
    current: str
    state: State
    because: str

    def __str__(self) -> str:
        if self.state in (State.SET, State.DIFFERS):
            was = f" (was {self.current or 'not set'})" if self.state is State.DIFFERS else ""
            return f"{self.key} = {self.value}{was}: {self.because}"
        words = {State.ABSENT: "not set, this host does not have it", State.LEFT: "left as it is"}
        is_now = f" ({self.current})" if self.current else ""
        return f"{self.key} {words.get(self.state, 'was not seen')}{is_now}: {self.because}"


def setting(key: str, value: str, current: str | None, because: str, *, path: str = "") -> Setting:
    """Return a setting whose state follows from `current`: None where the host did not say, "" where it is not set."""
    if current is None:
        return Setting(key, path, value, "", State.UNSEEN, because)
    return Setting(key, path, value, current, State.SET if current == value else State.DIFFERS, because)
