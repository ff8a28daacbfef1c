"""Inventory qops_lab: the practice hosts that are up, as `qops lab inventory` prints them."""

from __future__ import annotations

import typing as t

import yaml
from ansible.plugins.inventory import BaseInventoryPlugin

from qops.errors import QopsError
from qops.lab import inventory as lab_inventory
from qops.lab import lifecycle, place

DOCUMENTATION = """
name: qops_lab
short_description: Practice hosts of qops lab
description:
  - The hosts that C(qops lab up) brought up, in the group C(lab) and in that of their hardware class.
  - None where there is no lab, or no Docker.
options:
  plugin:
    description: Must be V(qops_lab).
    required: true
    choices: [qops_lab]
"""


class InventoryModule(BaseInventoryPlugin):
    """Reads the lab's containers."""

    NAME = "qops_lab"

    def verify_file(self, path: str) -> bool:
        """Tell whether a file is for this plugin."""
        return bool(super().verify_file(path)) and path.endswith("lab.qops.yml")

    def parse(self, inventory: t.Any, loader: t.Any, path: str, cache: bool = True) -> None:
        """Add the lab's groups and hosts."""
        super().parse(inventory, loader, path, cache)
        self._read_config_data(path)
        try:
            here = place.here()
            groups = yaml.safe_load(lab_inventory.render(here, lifecycle.containers(here)))
        except (QopsError, OSError) as error:
            self.display.vv(f"qops_lab: no practice hosts: {error}")
            return
        for group, content in groups.items():
            name = inventory.add_group(group)
            for key, value in content.get("vars", {}).items():
                inventory.set_variable(name, key, value)
            for host, variables in content["hosts"].items():
                inventory.add_host(host, group=name)
                for key, value in variables.items():
                    inventory.set_variable(host, key, value)
