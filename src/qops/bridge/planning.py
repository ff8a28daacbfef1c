"""Plans and verdicts for roles: the variables of a host and what was seen there, in; plain data, out."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import structs

from qops import plans
from qops.derive.hardware_class import hardware_class
from qops.engine import NAMED, judge
from qops.errors import UsageError
from qops.evidence.intent import Intent
from qops.plans import RolePlan, making
from qops.plans.making import kinds
from qops.rule import Rule
from qops.rules import ALL as RULES

__all__ = ["judged", "kinds", "needed", "planned", "role_plan", "rules", "said"]

Seen = Mapping[type, Any]


def role_plan(role: str) -> RolePlan:
    """Return how the plan of `role` is made. UsageError when it has none."""
    try:
        return plans.BY_ROLE[role]
    except KeyError:
        raise UsageError(f"no plan for the role {role!r}", f"there are {', '.join(plans.BY_ROLE)}") from None


def planned(role: str, seen: Seen, variables: Mapping[str, Any], said: str = "") -> dict[str, Any]:
    """Return the plan of `role` for a host as plain data: see `qops.plans.making.plan`.

    `failed` lists why the role must stop; it is empty when all is well. UsageError for a variable that cannot be.
    """
    made = making.plan(role_plan(role), seen, variables, said)
    plan = made.plan
    intent = {"qops_role": role, "hardware_class": said, "settings": dict(plan.intent)}
    return {
        "role": role,
        "manage": made.manage,
        "hardware_class": str(made.hardware.value),
        "differs": plan.differs,
        "failed": list(made.failed),
        "notes": list(plan.notes),
        "report": [str(s) for s in plan.settings],
        "facts": dict(plan.facts),
        "intent": json.dumps(intent) + "\n",
    }


def said(plan: Mapping[str, Any]) -> list[str]:
    """Return what a person reads of a plan, in lines: what is set or left, and what is worth knowing."""
    return [*plan["report"], *(f"note: {note}" for note in plan["notes"])]


def rules(codes: Sequence[str]) -> list[Rule]:
    """Return the rules with these codes. UsageError when one does not exist."""
    chosen = [rule for rule in RULES if rule.code in codes]
    missing = sorted(set(codes) - {rule.code for rule in chosen})
    if missing:
        raise UsageError(f"no such rule: {', '.join(missing)}", "qops rules")
    return chosen


def needed(chosen: Sequence[Rule]) -> set[type]:
    """Return the evidence that rules need or can use, but for what is no host's: an image or a model that is named."""
    return {kind for rule in chosen for _, kind in (*rule.needs, *rule.wants) if kind.__name__ not in NAMED}


def judged(chosen: Sequence[Rule], seen: Seen, said: str = "") -> dict[str, list[str]]:
    """Return what rules say: `findings` and `unknown`, as lines, both empty when all is well, and `ruled_out`."""
    evidence = dict(seen)
    if said:
        own = evidence.get(Intent) or Intent(())
        evidence[Intent] = structs.replace(own, hardware_class=str(hardware_class(None, None, said=said).value))
    report = judge("host", "", evidence, chosen)
    return {
        "findings": [f"{f.code} {f.cause}: {f.message}" for f in report.findings],
        "unknown": [f"{code}: {', '.join(kinds)} was not seen" for code, kinds in report.coverage.unknown],
        "ruled_out": [f"{e.code} {e.cause}: {e.because}" for e in report.ruled_out],
    }
