"""The value of a fix's variable where nobody gave one: the inventory's, what the host tells, or a question."""

from collections.abc import Mapping
from typing import Any

from qops.cli import each
from qops.errors import TransportError, UsageError
from qops.plans import BY_ROLE, making
from qops.plans.proposal import ASKED, PROPOSED, Proposal, propose
from qops.rule import Fix, Rule


def proposed(rule: Rule, fix: Fix, inventory: str, host: str, *, quiet: bool) -> Proposal | None:
    """Return the value for `fix` on `host`; None where the role needs none, or the inventory has one.

    Raises UsageError where a person must say it, or the host cannot have it; TransportError when it does not answer.
    """
    if rule.cause not in ASKED and rule.cause not in PROPOSED:
        return None
    if rule.cause in ASKED:
        from qops import inventory as inventories

        if inventories.hosts(inventory, host, also=(fix.variable,))[0].variables.get(fix.variable):
            return None
        raise UsageError(f"{rule.cause} needs a value for {fix.variable}", f"--set VALUE: {ASKED[rule.cause]}")
    return _looked(rule, fix, inventory, host, quiet=quiet)


def _looked(rule: Rule, fix: Fix, inventory: str, host: str, *, quiet: bool) -> Proposal | None:
    from qops import probes

    made = BY_ROLE[fix.tag]
    kinds = making.kinds(made)
    default = made.defaults[fix.variable.removeprefix(f"{fix.tag}_")]

    def of(seen: Mapping[type, Any], variables: Mapping[str, Any]) -> tuple[Proposal, ...]:
        if variables.get(fix.variable, default) != default:
            return ()  # somebody chose
        return (propose(rule.cause, fix.tag, fix.variable, seen, variables),)

    known = [probe.once() for probe in probes.ALL if probe.makes in kinds]
    found, errors, interrupted = each.make(known, of, inventory, host, also=making.variables(made), quiet=quiet)
    if interrupted:
        raise KeyboardInterrupt
    if errors:
        raise TransportError(*next(iter(errors.values())).split("; try: ", 1))
    if len(found) != 1:
        raise UsageError(f"{host!r} names {len(found)} hosts", "a fix is for one host at a time")
    return next(iter(next(iter(found.values()))), None)
