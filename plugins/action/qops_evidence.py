"""Action qops_evidence: asks the host what qops' probes ask, through Ansible's own connection; changes nothing."""

from __future__ import annotations

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
        host = str((task_vars or {}).get("inventory_hostname", "host"))
        try:
            found = bridge.look_by_name(
                host,
                bridge.shell_of(self),
                [str(kind) for kind in options["kinds"]],
                seconds=options["seconds"],
                sampled=options["sampled"],
            )
        except QopsError as error:
            raise AnsibleActionFail(f"{error.message}. {error.hint}") from error
        result.update(changed=False, ansible_facts={"qops_evidence": bridge.facts(found)})
        return result
