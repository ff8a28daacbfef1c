"""Inventories: which hosts there are, and how to reach each.

They are Ansible's. Where ansible-core is installed (the extra `provision`) it is asked, so that vault files, dynamic
sources and templates work as in a playbook; otherwise qops reads the simple forms itself.
"""

import importlib.util
from collections.abc import Callable, Collection
from dataclasses import replace

from qops.errors import UsageError
from qops.inventory.host import Host
from qops.inventory.password import Password

__all__ = ["Host", "hosts", "with_passwords"]


def hosts(
    source: str, pattern: str = "all", *, also: Collection[str] = (), ansible: bool | None = None
) -> tuple[Host, ...]:
    """Return the hosts of the inventory `source` that `pattern` names, in the inventory's order.

    `source` is a file, a folder, or a list of hosts with a comma in it. `also` names variables that are kept with
    each host. `ansible` says whether ansible-core is asked; None: when it is installed. Raises UsageError when the
    inventory cannot be read or has no such host.
    """
    if ansible is None:
        ansible = importlib.util.find_spec("ansible") is not None
    if ansible:
        from qops.inventory.by_ansible import read as ask

        found, known = ask(source, pattern, also)
    else:
        from qops.inventory.files import read
        from qops.inventory.pattern import select

        inventory = read(source)
        known = (*inventory.groups, *inventory.hosts)
        names = select(pattern, inventory.hosts, {name: inventory.members(name) for name in inventory.groups})
        found = tuple(inventory.host(name, also) for name in names)
    if not found:
        has = ", ".join(sorted(set(known) - {"all", "ungrouped"})[:20])
        raise UsageError(
            f"no host in {source} matches {pattern!r}" if known else f"{source} has no hosts",
            f"it has: {has}" if has else "see what Ansible makes of it: ansible-inventory --list -i FILE",
        )
    return found


def with_passwords(found: Collection[Host], ask: Callable[[], str] | None) -> tuple[Host, ...]:
    """Return the hosts with a password for sudo: the inventory's own where it has one, as in Ansible, else `ask`'s.

    `ask` is called once, and only when a host needs it. Hosts with the same password share it, so that it is known of
    all when it is wrong. Raises UsageError when `ask` is given and no host is to become root.
    """
    if ask and not any(host.become for host in found):
        raise UsageError(
            "a password for sudo is given, and no host is to become root", "set ansible_become: true in the inventory"
        )
    if ask and any(host.become and host.password is None for host in found):
        asked = Password(ask())
        found = [replace(host, password=asked) if host.become and not host.password else host for host in found]
    same: dict[str, Password] = {}
    return tuple(
        replace(host, password=same.setdefault(host.password.text, host.password)) if host.password else host
        for host in found
    )
