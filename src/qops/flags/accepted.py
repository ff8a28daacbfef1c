"""What one release of an engine accepts, and what others do."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple, TypeVar

from qops.data.engines import Engine, Key, Option, Variable, order
from qops.errors import UsageError

TITLES = {"vllm": "vLLM", "sglang": "SGLang"}

State = TypeVar("State", Option, Key, Variable)


class Name(NamedTuple):
    """An option as one of its names means it: the name it is listed under, its state, whether it is switched off."""

    key: str
    option: Option
    negates: bool = False


class Accepted:
    """The names of one release. A release that was not read counts as the newest one before it."""

    def __init__(self, engine: Engine, version: str) -> None:
        self.engine = engine
        self.written = version.removeprefix("v")
        try:
            wanted = order(self.written.partition("+")[0])
        except ValueError:
            raise UsageError(f"{version!r} is no release", f"write it as {engine.versions[-1]}") from None
        self._known = [order(one) for one in engine.versions]
        self._at = bisect_right(self._known, wanted) - 1
        if self._at < 0:
            oldest = engine.versions[0]
            raise UsageError(f"{TITLES[engine.engine]} {self.written} is not known", f"the data begins with {oldest}")
        self.exact = self._known[self._at] == wanted

    @property
    def place(self) -> int:
        """Where in `engine.versions` the release is that answers for this one."""
        return self._at

    def reaches(self, version: str) -> bool:
        """Return whether this release is `version` or newer."""
        return self._known[self._at] >= order(version)

    @property
    def title(self) -> str:
        """The engine and the release, as a message names them."""
        return f"{TITLES[self.engine.engine]} {self.written}"

    @cached_property
    def names(self) -> dict[str, Name]:
        """Every name that the release's parser knows, also those that switch off."""
        found: dict[str, Name] = {"-h": Name("-h", _HELP), "--help": Name("--help", _HELP)}
        for key, states in self.engine.options.items():
            option = self.now(states)
            if option is None:
                continue
            found.update((name, Name(key, option)) for name in (key, *option.also))
            found.update((name, Name(key, option, negates=True)) for name in option.negations(key))
        return found

    def now(self, states: Sequence[State]) -> State | None:
        """Return the state that holds in this release; None when the name is not there."""
        held = None
        for state in states:
            if self._place(state.since) > self._at:
                break
            held = state
        return None if held is None or held.gone else held

    def keys(self, config: str) -> dict[str, Key]:
        """Return the keys that a configuration has in this release."""
        found = self.engine.configs.get(config, {})
        return {name: state for name, states in found.items() if (state := self.now(states))}

    def ever(self, name: str) -> tuple[Option, ...]:
        """Return the states of an option that some release knows under `name`."""
        if name in self.engine.options:
            return self.engine.options[name]
        for key, states in self.engine.options.items():
            if any(name in (*state.also, *state.negations(key)) for state in states):
                return states
        return ()

    def left(self, states: Sequence[State]) -> tuple[State, str, str] | None:
        """Return the last state before a name went, the last release with it and the first one without it.

        None when it is still there, or comes later.
        """
        for before, gone in zip(reversed(states[:-1]), reversed(states[1:]), strict=True):
            if gone.gone and self._place(gone.since) <= self._at:
                return before, self.engine.versions[self._place(gone.since) - 1], gone.since
        return None

    def comes(self, states: Sequence[State]) -> str | None:
        """Return the release after this one that brings a name (back)."""
        return next((one.since for one in states if self._place(one.since) > self._at and not one.gone), None)

    def choice_history(self, states: Sequence[Option | Key], value: str) -> str:
        """Return in brackets which other releases take `value`; empty when none does."""
        later = next((s.since for s in states if self._place(s.since) > self._at and value in s.choices), None)
        if later:
            return f" (it is a choice from {later} on)"
        earlier = [i for i, s in enumerate(states) if self._place(s.since) <= self._at and value in s.choices]
        if earlier and earlier[-1] + 1 < len(states):
            last = self.engine.versions[self._place(states[earlier[-1] + 1].since) - 1]
            return f" (it was a choice up to {last})"
        return ""

    def starting(self, prefix: str) -> Iterator[str]:
        """Yield the names that argparse would complete `prefix` to."""
        return (name for name in self.names if name.startswith(prefix))

    def _place(self, version: str) -> int:
        return self._places[version]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {version: index for index, version in enumerate(self.engine.versions)}


_HELP = Option(since="", kind="switch")
