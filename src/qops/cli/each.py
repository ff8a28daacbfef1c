"""One look at this host, or at each host of an inventory, and what is made of it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

from qops.cli import options
from qops.cli.looking import look
from qops.collection import Collection as Answers
from qops.engine import observe
from qops.errors import TransportError
from qops.probes.base import Probe

R = TypeVar("R")
Make = Callable[[Mapping[type, Any], Mapping[str, Any]], R]
"""Makes a result of a host's evidence and its variables."""


def make(
    known: Sequence[Probe],
    result: Make[R],
    inventory: str | None,
    pattern: str,
    *,
    also: Collection[str],
    quiet: bool,
    seconds: float = options.SECONDS,
) -> tuple[dict[str, R], dict[str, str], bool]:
    """Return what `result` makes of each host, why there is nothing of the others, and whether Ctrl-C ended it.

    Without an inventory this host is asked. `also` names the variables that `result` uses; a look takes at most
    `seconds`. UsageError for an inventory that cannot be read.
    """

    def seen(found: Answers) -> Mapping[type, Any]:
        return observe(found.texts, found.gaps, known)

    if inventory is None:
        here = look(known, what="looking at this host", seconds=seconds, quiet=quiet)
        return {here.host: result(seen(here), {})}, {}, here.interrupted
    from qops.cli import fleet  # brings fabric, which a look at this host does without

    hosts = {host.name: host for host in options.hosts(inventory, pattern or "all", also)}

    def of_one(found: Answers, lost: str, written: str) -> R:
        if lost:
            raise TransportError(lost, "try again")
        return result(seen(found), hosts[found.host].variables)

    looked, interrupted = fleet.look(
        list(hosts.values()), known, of_one, what=f"looking at {len(hosts)} hosts", seconds=seconds, quiet=quiet
    )
    made = {one.host.name: one.result for one in looked if one.result is not None}
    errors = {one.host.name: f"{one.error.message}; try: {one.error.hint}" for one in looked if one.error}
    return made, errors, interrupted
