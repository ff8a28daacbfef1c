"""Action qops_verify: judges the host by the rules that a role promises; changes nothing."""

from __future__ import annotations

import typing as t

from ansible.plugins.action import ActionBase

from qops import bridge
from qops.errors import QopsError

DOCUMENTATION = """
name: qops_verify
short_description: Judge a host by rules of qops
description:
  - Looks at the evidence that the rules need, in one round trip, and judges it as C(qops diagnose) does.
  - Fails when a rule finds something, and when evidence that a rule needs could not be seen.
options:
  rules:
    description: Codes of rules, such as V(HST061).
    type: list
    elements: str
    required: true
  seconds:
    description: After how many seconds to stop asking.
    type: float
    default: 60
"""


class ActionModule(ActionBase):
    """Judges the host of the task."""

    _supports_check_mode = True
    _supports_async = False
    TRANSFERS_FILES = False
    _requires_connection = True

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Return the verdict."""
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        _, options = self.validate_argument_spec(
            argument_spec={
                "rules": {"type": "list", "elements": "str", "required": True},
                "seconds": {"type": "float", "default": 60.0},
            }
        )
        known = task_vars or {}
        said = str(self._templar.template(known.get("qops_hardware_class", "")) or "")
        host = str(known.get("inventory_hostname", "host"))
        try:
            rules = bridge.rules([str(code) for code in options["rules"]])
            seen = bridge.look(host, bridge.shell_of(self), bridge.needed(rules), seconds=options["seconds"])
            verdict = bridge.judged(rules, seen, said)
        except QopsError as error:
            return {**result, "failed": True, "msg": f"{error.message}. {error.hint}".removesuffix(". ")}
        wrong = verdict["findings"] + verdict["unknown"]
        told = f"no finding of {', '.join(options['rules'])}"
        result.update(verdict, changed=False, failed=bool(wrong), msg="\n".join(wrong) or told)
        return result
