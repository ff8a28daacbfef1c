"""Action qops_evidence: asks the host what qops' probes ask, through Ansible's own connection; changes nothing."""

from __future__ import annotations

import contextvars
import typing as t

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from qops import bridge
from qops.errors import QopsError

DOCUMENTATION = """
name: qops_evidence
short_description: Typed evidence of a host as facts
description:
  - Runs the commands of qops' probes on the host and parses the answers on the controller.
  - Nothing is installed or changed on the host. Works in check mode.
  - The facts are C(ansible_facts.qops_evidence), a dictionary of the kinds of evidence by name.
options:
  kinds:
    description: Kinds of evidence, such as V(Gpus) or V(Sysctls). Empty for all.
    type: list
    elements: str
    default: []
  seconds:
    description: After how many seconds to stop asking.
    type: float
    default: 60
  sampled:
    description: Whether to ask over time, as the diagnosis of a hang needs it.
    type: bool
    default: false
"""


class ActionModule(ActionBase):
    """Collects on the host of the task."""

    _supports_check_mode = True
    _supports_async = False
    TRANSFERS_FILES = False
    _requires_connection = True

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Return the evidence as facts."""
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        _, options = self.validate_argument_spec(
            argument_spec={
                "kinds": {"type": "list", "elements": "str", "default": []},
                "seconds": {"type": "float", "default": 60.0},
                "sampled": {"type": "bool", "default": False},
            }
        )
        # Ansible keeps the task in context variables, which the collecting threads do not inherit.
        context = contextvars.copy_context()
        host = str((task_vars or {}).get("inventory_hostname", "host"))
        try:
            found = bridge.look(
                host,
                lambda command: context.run(self._shell, command),
                [str(kind) for kind in options["kinds"]],
                seconds=options["seconds"],
                sampled=options["sampled"],
            )
        except QopsError as error:
            raise AnsibleActionFail(f"{error.message}. {error.hint}") from error
        result.update(changed=False, ansible_facts={"qops_evidence": found})
        return result

    def _shell(self, command: str) -> tuple[int, str, str]:
        # Standard input that is not empty keeps ssh from making a terminal, which would mix the two outputs.
        become = self._connection.become
        piped = self._connection.has_pipelining and (become is None or become.pipelining)
        done = self._low_level_execute_command(command, sudoable=True, in_data=b"\n" if piped else None)
        return done["rc"], done["stdout"], done["stderr"]
