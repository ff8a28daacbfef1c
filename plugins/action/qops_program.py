"""Action qops_program: a program on the host as a unit of its own, whose lines are shown while it runs."""

from __future__ import annotations

import typing as t

from ansible import constants
from ansible.plugins.action import ActionBase

from qops import bridge
from qops.bridge import programs
from qops.errors import QopsError

DOCUMENTATION = """
name: qops_program
short_description: Run a program on the host to its end, whatever becomes of the connection
description:
  - Starts the program by systemd-run, and prints its lines as they come.
  - Fails with its last lines when it fails. A lost connection, or Ansible killed, does not end it.
  - Does nothing in check mode.
options:
  unit:
    description: The unit's name, without C(.service). Of two runs at once the second is refused.
    type: str
    required: true
  description:
    description: What the unit says that it does.
    type: str
    required: true
  argv:
    description: The program and its arguments. No secrets.
    type: list
    elements: str
    required: true
"""


class ActionModule(ActionBase):
    """Runs a program on the host of the task."""

    _supports_check_mode = True
    _supports_async = False
    TRANSFERS_FILES = False
    _requires_connection = True

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Return what the program said."""
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        _, options = self.validate_argument_spec(
            argument_spec={
                "unit": {"type": "str", "required": True},
                "description": {"type": "str", "required": True},
                "argv": {"type": "list", "elements": "str", "required": True},
            }
        )
        if self._task.check_mode:
            return {**result, "skipped": True, "msg": "it is not run in check mode"}
        host = str((task_vars or {}).get("inventory_hostname", "host"))
        shell, unit = bridge.shell_of(self), str(options["unit"])
        lines: list[str] = []
        try:
            programs.begin(shell, unit, str(options["description"]), [str(word) for word in options["argv"]])
            bridge.Remembered(constants.DEFAULT_LOCAL_TMP, host).forget()
            seen, status = 0, None
            while status is None:
                heard = programs.follow(shell, unit, seen)
                seen, status = heard.seen, heard.status
                lines.extend(heard.lines)
                for line in heard.lines:
                    self._display.display(f"  {host}: {line}")
        except QopsError as error:
            return {**result, "failed": True, "msg": f"{error.message}. {error.hint}", "lines": lines}
        told = "it was killed" if status < 0 else f"status {status}"
        result.update(changed=True, failed=status != 0, status=status, lines=lines)
        result["msg"] = "done" if status == 0 else f"{lines[-1] if lines else 'it said nothing'} ({told})"
        return result
