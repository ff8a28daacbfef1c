"""Plans as text and as JSON: what would be set on each host, and why."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from qops.derive.setting import Setting, State
from qops.plans.base import Planned
from qops.render.screen import Line

SIGNS = {
    State.SET: ("=", "green"),
    State.DIFFERS: ("~", "yellow"),
    State.ABSENT: ("-", "dim"),
    State.LEFT: ("-", "dim"),
    State.UNSEEN: ("?", "magenta"),
}
LEGEND = "= is so   ~ would be set   - left or not there   ? not seen   ! the role would stop"


def text(hosts: Mapping[str, Sequence[Planned]], errors: Mapping[str, str]) -> Iterator[Line]:
    """Yield lines for each host: its class, and for each role its settings."""
    for host, planned in hosts.items():
        if planned:
            hardware = planned[0].hardware
            yield [(f"{host}", "bold"), (f": {hardware.value} ({hardware.because})", "")]
        for role in planned:
            off = "" if role.manage else f" (left to its owner: {role.role}_manage is false)"
            yield [(f"  {role.role}{off}", "bold")]
            yield from ([("    ! ", "red"), (reason, "")] for reason in role.failed)
            for setting in role.plan.settings:
                sign, style = SIGNS[setting.state]
                yield [(f"    {sign} ", style), (str(setting), "")]
            yield from ([("      ", ""), (f"note: {note}", "")] for note in role.plan.notes)
        yield []
    for host, error in errors.items():
        yield [(f"{host}", "bold"), (f": {error}", "red")]
    if hosts:
        yield [(LEGEND, "dim")]


def document(hosts: Mapping[str, Sequence[Planned]], errors: Mapping[str, str]) -> str:
    """Return the same as one JSON document. `facts` is what the roles' templates use."""
    made = [
        {
            "host": host,
            "hardware_class": str(planned[0].hardware.value) if planned else "",
            "because": planned[0].hardware.because if planned else "",
            "roles": [_role(role) for role in planned],
        }
        for host, planned in hosts.items()
    ]
    unreached = [{"host": host, "error": error} for host, error in errors.items()]
    return json.dumps({"schema": 1, "hosts": made, "unreachable": unreached}, indent=2) + "\n"


def _role(role: Planned) -> dict[str, Any]:
    return {
        "role": role.role,
        "manage": role.manage,
        "differs": role.plan.differs,
        "stops": list(role.failed),
        "settings": [_setting(s) for s in role.plan.settings],
        "notes": list(role.plan.notes),
        "facts": dict(role.plan.facts),
    }


def _setting(setting: Setting) -> dict[str, str]:
    return {
        "key": setting.key,
        "value": setting.value,
        "current": setting.current,
        "state": str(setting.state),
        "because": setting.because,
        "path": setting.path,
    }
