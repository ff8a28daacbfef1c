"""The check of an inventory: everything that is wrong with it, before anything is done with it."""

import difflib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from qops.inventory import mistakes, secrets
from qops.inventory.declared import Declarations, Declared
from qops.inventory.host import CLASSES
from qops.inventory.mistakes import Mistake
from qops.inventory.specs import Specs

_BUILT_IN = ("all", "ungrouped")
_SHIPPED = (*CLASSES, "lab")  # groups of the inventory that qops comes with, which may be empty


def check(
    said: Declarations,
    specs: Specs,
    groups: Mapping[str, Collection[str]],
    hosts: Collection[str],
    *,
    given: Mapping[str, Any] | None = None,
    own: Sequence[str] = (),
    plain_secrets: bool = False,
) -> tuple[Mistake, ...]:
    """Return all mistakes that touch `hosts`, the grave ones first.

    `groups` are all groups with all their hosts. `given` are variables that stand in no file, as those of `-e`.
    `own` are names of the owner's own variables that look like a role's; with `plain_secrets`, secrets in plain text
    are not grave. A mistake that touches none of `hosts` is
    never grave: it must not keep anybody from running a playbook on another host.
    """
    inside = {name for name, members in groups.items() if name == "all" or set(members) & set(hosts)}

    def touches(one: Declared) -> bool:
        return (one.host in hosts) if one.host else (not one.group or one.group in inside or one.group == "all")

    beside = [
        Declared(name, value, "given by -e or by a plug-in", 0, typed=False) for name, value in (given or {}).items()
    ]
    found: list[Mistake] = []
    for near in (True, False):
        chosen = [one for one in (*said.variables, *beside) if touches(one) is near]
        judged = [*mistakes.names(chosen, specs, own), *mistakes.twice(chosen), *mistakes.types(chosen, specs)]
        told = list(secrets.plain(chosen))
        found += judged if near else [replace(one, grave=False) for one in judged]
        found += told if near and not plain_secrets else [replace(one, grave=False) for one in told]
    found += _classes(groups, hosts)
    found += _contradictions(said, specs, groups, hosts)
    found += _folders(said, groups)
    return tuple(sorted(dict.fromkeys(found), key=lambda one: not one.grave))


def _classes(groups: Mapping[str, Collection[str]], hosts: Collection[str]) -> Iterator[Mistake]:
    """Yield hosts that two classes of hardware claim: the variables of both would be mixed."""
    for host in hosts:
        mine = [name for name in CLASSES if host in groups.get(name, ())]
        if len(mine) > 1:
            yield Mistake(f"{host} is in the groups {' and '.join(mine)}, and a host has one class of hardware")


def _contradictions(
    said: Declarations, specs: Specs, groups: Mapping[str, Collection[str]], hosts: Collection[str]
) -> Iterator[Mistake]:
    """Yield variables to which two groups of a host give different values, where neither group is in the other."""
    by_name: dict[str, list[Declared]] = {}
    for one in said.variables:
        if one.name in specs.variables and one.group not in ("", *_BUILT_IN):
            by_name.setdefault(one.name, []).append(one)
    own = {(one.name, one.host) for one in said.variables if one.host}
    for name, places in by_name.items():
        for number, first in enumerate(places):
            for second in places[number + 1 :]:
                related = second.group in said.below(first.group) or first.group in said.below(second.group)
                if first.value == second.value or related:
                    continue
                both = set(groups.get(first.group, ())) & set(groups.get(second.group, ())) & set(hosts)
                if left := sorted(host for host in both if (name, host) not in own):
                    message = (
                        f"{name} has another value in group {second.group} ({second.where}), and {left[0]} is in both: "
                        "give it for the host, or for one of the groups"
                    )
                    yield Mistake(message, first.where)


def _folders(said: Declarations, groups: Mapping[str, Collection[str]]) -> Iterator[Mistake]:
    """Yield files of variables that belong to no group and no host, and groups with variables that are empty."""
    known = {
        "group": {*groups, *_BUILT_IN, *_SHIPPED},
        "host": {host for members in groups.values() for host in members},
    }
    for kind, name, path in said.folders:
        if name not in known[kind]:
            near = difflib.get_close_matches(name, known[kind], n=1)
            nearest = f"; did you mean {near[0]}?" if near else ""
            yield Mistake(f"there is no {kind} {name}, so nothing in it is used{nearest}", path, grave=bool(near))
    for name, members in groups.items():
        if not members and name not in (*_BUILT_IN, *_SHIPPED):
            yield Mistake(f"group {name} has no hosts", grave=False)
