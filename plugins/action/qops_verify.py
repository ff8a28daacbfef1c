"""Action qops_verify: judges the host by the rules that a role promises; changes nothing."""

from __future__ import annotations

import typing as t

from ansible import constants
from ansible.plugins.action import ActionBase

from qops import bridge
from qops.errors import QopsError
from qops.inventory.host import is_true

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
    default: []
  promises:
    description:
      - Codes of rules by the role that promises them.
      - A role that the inventory says not to manage, or that C(--tags) leaves out, is not judged.
    type: dict
    default: {}
  seconds:
    description: After how many seconds to stop asking.
    type: float
    default: 60
  fresh:
    description: Whether to look again at what this run has seen already.
    type: bool
    default: false
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
                "rules": {"type": "list", "elements": "str", "default": []},
                "promises": {"type": "dict", "default": {}},
                "seconds": {"type": "float", "default": 60.0},
                "fresh": {"type": "bool", "default": False},
            }
        )
        known = task_vars or {}
        said = str(self._templar.template(known.get("qops_hardware_class", "")) or "")
        kept = [codes for role, codes in options["promises"].items() if self._is_judged(str(role), known)]
        codes = [str(code) for code in (*options["rules"], *(code for some in kept for code in some))]
        try:
            rules = bridge.rules(codes)
            remembered = bridge.Remembered(constants.DEFAULT_LOCAL_TMP, str(known.get("inventory_hostname", "host")))
            seen = remembered.look(
                bridge.shell_of(self), bridge.needed(rules), seconds=options["seconds"], fresh=options["fresh"]
            )
            verdict = bridge.judged(rules, seen, said)
        except QopsError as error:
            return {**result, "failed": True, "msg": f"{error.message}. {error.hint}".removesuffix(". ")}
        wrong = verdict["findings"] + verdict["unknown"]
        if wrong:
            remembered.forget()  # whoever tries again looks again
        told = f"no finding of {', '.join(codes) or 'any rule: none is promised'}"
        result.update(verdict, changed=False, failed=bool(wrong), msg="\n".join(wrong) or told)
        return result

    def _is_judged(self, role: str, known: dict[str, t.Any]) -> bool:
        manage = self._templar.template(known.get(f"{role}_manage", True))
        wanted, left_out = known.get("ansible_run_tags", ["all"]), known.get("ansible_skip_tags", [])
        return is_true(manage) and ("all" in wanted or role in wanted) and role not in left_out
