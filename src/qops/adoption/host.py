"""The engines that run on a host, of the texts that it gave."""

from dataclasses import dataclass

from qops.adoption import inspected, unit
from qops.adoption.found import Found
from qops.evidence.engine_sources import EngineSources
from qops.flags.shell import Word

_OWN = "(role inference_service)"  # in the first line of a unit that the role wrote


@dataclass(frozen=True, slots=True)
class Running:
    """The engines that run on a host, notes on what is not among them, and whether all could be seen."""

    found: list[Found]
    notes: list[str]
    complete: bool


def read(sources: EngineSources) -> Running:
    """Return the engines. A container that a unit runs is named once, by its unit. UsageError for what is damaged."""
    found: list[Found] = []
    notes = [f"{engine} did not answer, so its containers were not seen (as root it may)" for engine in sources.unread]
    names: set[str] = set()
    for name, text in sources.units.items():
        if _OWN in text:
            notes.append(f"{name} is the role's already")
            names.add(name.removesuffix(".service"))
            continue
        made = unit.Unit(name, unit.parts(text, name), {"HOME": "/root"}, sources.files.get).found()
        if not made:
            notes.append(f"an engine runs in {name}, and how it is started was not found there: adopt its script")
        for one in made:
            one.version = sources.versions.get(name, "")
            names.add(one.name)
        found += made
    for engine, text in sources.inspected.items():
        for one in inspected.read(text, f"{engine} inspect", sources.files.get):
            one.runtime = engine
            if one.name not in names and not any(_same(one.words, other.words) for other in found):
                found.append(one)
    return Running(found, notes or ([] if found else ["no engine runs here"]), complete=not sources.unread)


def _same(one: list[Word], other: list[Word]) -> bool:
    return len(one) > 3 and {word.text for word in other} <= {word.text for word in one}
