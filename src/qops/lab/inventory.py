"""The lab as an Ansible inventory: one group for each hardware class, and `lab` for all."""

import shlex
from collections.abc import Sequence

from qops.lab import keys
from qops.lab.docker import Container
from qops.lab.place import Place

# Practice hosts have a repository of the lab's own, which offers driver and toolkit, and ask no other.
_REPOSITORIES = {
    "container_engine_source": "distribution",
    "container_toolkit_repository": "leave",
    "nvidia_driver_repository": "leave",
}


def render(place: Place, containers: Sequence[Container]) -> str:
    """Return the YAML that `ansible -i` takes. Hosts that are half built are left out."""
    import yaml

    whole = [one for one in containers if not one.half_built]
    groups: dict[str, object] = {
        "lab": {"vars": _REPOSITORIES, "hosts": {one.host: _variables(place, one) for one in whole}},
    }
    for name in sorted({one.hardware_class for one in whole}):
        groups[name] = {"hosts": {one.host: {} for one in whole if one.hardware_class == name}}
    return str(yaml.safe_dump(groups, sort_keys=False, width=200))


def _variables(place: Place, one: Container) -> dict[str, object]:
    return {
        "ansible_host": one.address,
        "ansible_port": 22,
        "ansible_user": "root",
        "ansible_ssh_private_key_file": str(place.key),
        # -F none: what ~/.ssh/config says of other machines must not reach the lab.
        "ansible_ssh_common_args": shlex.join(("-F", "none", *keys.ssh_options(place))),
        "ansible_python_interpreter": "/usr/bin/python3",
        "qops_lab_scenario": one.scenario,
    }
