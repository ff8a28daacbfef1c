"""Action qops_plan: looks at the host and says what a role would set there, and why; changes nothing."""

from __future__ import annotations

import typing as t

from ansible import constants
from ansible.plugins.action import ActionBase

from qops import bridge
from qops.errors import QopsError

_ALL = 3  # -vvv: the whole result, as Ansible prints it

DOCUMENTATION = """
name: qops_plan
short_description: What a role means a host to be
description:
  - Takes the host's variables whose names begin with the role's, looks at the host in one round trip, and derives.
  - Fails with every reason when the role must not go on. Works in check mode, and changes nothing.
  - Prints in lines what the role would set and why, where something differs or is worth knowing, and always with -v.
  - Prints all that it returns with -vvv.
  - Register it. RV(differs) says whether something has to be set, RV(facts) is what tasks and templates use.
options:
  role:
    description: The role.
    type: str
    required: true
  seconds:
    description: After how many seconds to stop asking.
    type: float
    default: 60
  fresh:
    description:
      - Whether to look again at what this run has seen already.
      - Otherwise the host is asked anew only when a role has found something to change there since.
    type: bool
    default: false
"""


class ActionModule(ActionBase):
    """Plans for the host of the task."""

    _supports_check_mode = True
    _supports_async = False
    TRANSFERS_FILES = False
    _requires_connection = True

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Return the plan."""
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        _, options = self.validate_argument_spec(
            argument_spec={
                "role": {"type": "str", "required": True},
                "seconds": {"type": "float", "default": 60.0},
                "fresh": {"type": "bool", "default": False},
            }
        )
        known = task_vars or {}
        try:
            made = bridge.role_plan(options["role"])
            prefix = f"{made.role}_"
            given = {
                name: bridge.plain(self._templar.template(known[prefix + name]))
                for name in made.defaults
                if prefix + name in known
            }
            given |= {n: bridge.plain(self._templar.template(known[n])) for n in made.also if n in known}
            said = str(self._templar.template(known.get("qops_hardware_class", "")) or "")
            remembered = bridge.Remembered(constants.DEFAULT_LOCAL_TMP, str(known.get("inventory_hostname", "host")))
            # The first role of a run sees along what the others will want.
            tags = known.get("ansible_run_tags", ["all"]), known.get("ansible_skip_tags", [])
            seen = remembered.look(
                bridge.shell_of(self),
                bridge.kinds(made),
                seconds=options["seconds"],
                fresh=options["fresh"],
                special=made.asks({**made.defaults, **made.also, **given}),
                ahead=bridge.wanted_soon(*tags) if made.role == "preflight" else (),
            )
            plan = bridge.planned(made.role, seen, given, said)
        except QopsError as error:
            return {**result, "failed": True, "msg": f"{error.message}. {error.hint}".removesuffix(". ")}
        reasons = plan.pop("failed")
        result.update(plan, changed=False)
        if plan["manage"] and plan["differs"] and not self._task.check_mode:
            remembered.forget()  # the role changes the host next
        if reasons:
            # All that is wrong, at once; and what the plan would be, for whoever mends it. No task follows.
            del result["facts"], result["intent"]
            result.update(failed=True, msg="\n".join(reasons))
        elif self._display.verbosity < _ALL:
            # Ansible would print `facts` too, which are whole files.
            result["_ansible_verbose_override"] = True
            worth = plan["notes"] or (plan["manage"] and plan["differs"])
            for line in bridge.said(plan) if worth or self._display.verbosity else ():
                self._display.display(f"  {known.get('inventory_hostname', 'host')}: {line}")
        return result
