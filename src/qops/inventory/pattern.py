"""Patterns of hosts, as `-l` takes them: names, groups, globs, `~regex`, `&` for both, `!` for not."""

import fnmatch
import re
from collections.abc import Collection, Mapping, Sequence

from qops.errors import UsageError

# A colon separates too, unless it stands in the range or slice of square brackets.
_SEPARATOR = re.compile(r"[,:](?![^\[\]]*\])")


def select(pattern: str, hosts: Sequence[str], groups: Mapping[str, Collection[str]]) -> tuple[str, ...]:
    """Return those of `hosts` that `pattern` names, in their order. What excludes comes last, wherever it stands.

    Raises UsageError for a term that names nothing, and for forms that only ansible-core knows.
    """
    terms = [term.strip() for term in _SEPARATOR.split(pattern) if term.strip()]
    first = [term for term in terms if term[0] not in "&!"]
    chosen = set().union(*(_matching(t, hosts, groups) for t in first)) if first else set(hosts)
    for term in (t for t in terms if t.startswith("&")):
        chosen &= _matching(term[1:], hosts, groups)
    for term in (t for t in terms if t.startswith("!")):
        chosen -= _matching(term[1:], hosts, groups, maybe=True)
    return tuple(host for host in hosts if host in chosen)


def _matching(
    term: str, hosts: Sequence[str], groups: Mapping[str, Collection[str]], *, maybe: bool = False
) -> set[str]:
    if term.startswith("@") or "[" in term:
        raise UsageError(
            f"the pattern {term!r} needs ansible-core, which is not installed", "pip install 'qops[provision]'"
        )
    if term in ("all", "*"):
        return set(hosts)
    if term.startswith("~"):
        try:
            wanted = re.compile(term[1:])
        except re.error as error:
            raise UsageError(f"the pattern {term!r} is no regular expression: {error}") from None
    else:
        wanted = re.compile(fnmatch.translate(term))
    found = {host for host in hosts if wanted.match(host)}
    for name, members in groups.items():
        if wanted.match(name):
            found |= set(members)
    if not found and not maybe:
        has = ", ".join([*groups, *hosts][:20])
        raise UsageError(f"the inventory has neither a group nor a host {term!r}", f"it has: {has}" if has else "")
    return found
