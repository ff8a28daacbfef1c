"""Reads compose files: their services with all that is merged into them, and the words of a command."""

from collections.abc import Callable, Sequence

from qops.flags import shell
from qops.flags.document import Item, parse
from qops.flags.shell import Word

_DEEPEST = 10  # merges of merges; an anchor may hold itself

Fill = Callable[[str], str]
"""Fills in the variables of a text."""


def services(text: str, file: str) -> dict[str, Item]:
    """Return the services by name; a text that is one itself has no name. UsageError, with the line, for no YAML."""
    whole = parse(text, file, "a compose file")
    top = mapping(whole)
    return mapping(top["services"]) if "services" in top else {"": whole}


def mapping(item: Item | None, depth: int = 0) -> dict[str, Item]:
    """Return a mapping with what `<<` merges into it; empty for anything else."""
    if item is None or depth > _DEEPEST:
        return {}
    found: dict[str, Item] = {}
    for one in items(item.mapping.get("<<")):
        found = {**mapping(one, depth + 1), **found}
    return found | {key: value for key, value in item.keys if key != "<<"}


def items(item: Item | None) -> tuple[Item, ...]:
    """Return what a list holds, and a value that stands alone as a list of one."""
    if item is None or item.kind == "null":
        return ()
    return item.items if item.kind == "seq" else (item,)


def words(item: Item | None, lines: Sequence[str], fill: Fill) -> list[Word]:
    """Return a command: a list as it is, a text as a shell splits it. `lines` are those of the whole file."""
    if item is None or item.kind in ("null", "map"):
        return []
    if item.kind == "seq":
        return [Word(fill(one.text), one.line) for one in item.items]
    first = item.line
    text = item.text
    if item.end:
        # The folded value has lost its lines; the file has them.
        text = " \\\n".join(line.rstrip().removesuffix("\\") for line in lines[item.line : item.end])
        first += 1
    return [Word(one.text, one.line, literal=True) for one in shell.words(fill(text), first)]
