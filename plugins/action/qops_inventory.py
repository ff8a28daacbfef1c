"""Action qops_inventory: checks the inventory of this run on the controller; asks no host and changes nothing."""

from __future__ import annotations

import pathlib
import typing as t

from ansible.plugins.action import ActionBase

from qops import bridge
from qops.errors import QopsError
from qops.inventory import check, declared, specs

DOCUMENTATION = """
name: qops_inventory
short_description: Find the mistakes in an inventory
description:
  - Compares the variables of the play's hosts, and the files that give them, with the argument specs of all roles.
  - Finds misspelt and removed variables, values of the wrong type, secrets in plain text, a host of two classes,
    values that contradict each other, and variables for groups that do not exist.
  - Fails when a mistake touches a host of the play. Mistakes elsewhere are told. Values are never shown.
options:
  own_variables:
    description: Names of variables of your own that begin as a role of qops does.
    type: list
    elements: str
    default: []
  plain_secrets:
    description: Whether secrets in plain text are only told.
    type: bool
    default: false
"""
ROLES = pathlib.Path(__file__).parent.parent.parent / "roles"


class ActionModule(ActionBase):
    """Checks for all hosts of the play at once: to be run with C(run_once)."""

    _supports_check_mode = True
    _supports_async = False
    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Return the mistakes."""
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        _, options = self.validate_argument_spec(
            argument_spec={
                "own_variables": {"type": "list", "elements": "str", "default": []},
                "plain_secrets": {"type": "bool", "default": False},
            }
        )
        known = task_vars or {}
        try:
            known_specs = specs.read(ROLES)
            sources = [str(source) for source in known.get("ansible_inventory_sources") or ()]
            said = declared.read(sources, known.get("playbook_dir"))
            names = {one.name for one in said.variables}
            found = check.check(
                said,
                known_specs,
                {str(name): [str(host) for host in hosts] for name, hosts in known.get("groups", {}).items()},
                [str(host) for host in known.get("ansible_play_hosts_all", ())],
                given=self._beside(known, names, known_specs),
                own=[str(name) for name in options["own_variables"]],
                plain_secrets=options["plain_secrets"],
            )
        except QopsError as error:
            return {**result, "failed": True, "msg": f"{error.message}. {error.hint}".removesuffix(". ")}
        grave = [str(one) for one in found if one.grave]
        notes = [str(one) for one in found if not one.grave]
        result.update(changed=False, mistakes=grave, notes=notes, failed=bool(grave))
        result["msg"] = "\n".join(grave) or f"nothing is wrong with {', '.join(sources) or 'the inventory'}"
        if notes:
            result["_ansible_verbose_always"] = True
        return result

    def _beside(self, known: dict[str, t.Any], names: set[str], roles: specs.Specs) -> dict[str, t.Any]:
        """Return variables that look like a role's and stand in no file: of the command line, or of a plug-in."""
        own = self._task._role.get_default_vars() if self._task._role else {}
        found: dict[str, t.Any] = {}
        for host in (None, *known.get("ansible_play_hosts_all", ())):
            variables = known if host is None else known["hostvars"].raw_get(host)
            for name in variables:
                if name in names or name in found or not (roles.role_of(name) or name.startswith("qops_")):
                    continue
                if host is None and name in own and known[name] == own[name]:
                    continue
                found[str(name)] = bridge.plain(variables[name])
        return found
