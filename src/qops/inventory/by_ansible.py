"""Inventories read by ansible-core itself. Only the function imports it: that takes a good part of a second."""

import contextlib
import io
import json
import os
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path

from qops.errors import UsageError
from qops.inventory.host import USED, Host, host


def read(source: str, pattern: str, also: Collection[str] = ()) -> tuple[tuple[Host, ...], tuple[str, ...]]:
    """Return the hosts that `pattern` names, with their variables `also`, and the names of all groups and hosts.

    Raises UsageError with ansible-core's own words.
    """
    from ansible import constants  # type: ignore[import-untyped]
    from ansible.errors import AnsibleError  # type: ignore[import-untyped]
    from ansible.inventory.manager import InventoryManager  # type: ignore[import-untyped]
    from ansible.parsing.dataloader import DataLoader  # type: ignore[import-untyped]
    from ansible.parsing.vault import get_file_vault_secret  # type: ignore[import-untyped]
    from ansible.plugins.loader import init_plugin_loader  # type: ignore[import-untyped]
    from ansible.template import Templar  # type: ignore[import-untyped]
    from ansible.utils.collection_loader import AnsibleCollectionConfig  # type: ignore[import-untyped]
    from ansible.vars.manager import VariableManager  # type: ignore[import-untyped]

    if "," not in source and not Path(source).exists():
        raise UsageError(f"there is no inventory {source}", "qops lab inventory >lab.yml makes one for the lab")
    said = io.StringIO()
    try:
        with _as_file(source) as readable, contextlib.redirect_stderr(said):
            if AnsibleCollectionConfig.collection_finder is None:  # it warns when it is called twice
                init_plugin_loader()
            loader = DataLoader()
            if constants.DEFAULT_VAULT_PASSWORD_FILE:
                secret = get_file_vault_secret(constants.DEFAULT_VAULT_PASSWORD_FILE, "default", loader)
                secret.load()
                loader.set_vault_secrets([("default", secret)])
            inventory = InventoryManager(loader=loader, sources=[readable])
            variables = VariableManager(loader=loader, inventory=inventory)
            inventory.subset(pattern)
            found: list[Host] = []
            for one in inventory.list_hosts("all"):
                its = variables.get_vars(host=one, include_hostvars=False)
                templar = Templar(loader, variables=its)
                told = {name: _plain(templar.template(its[name])) for name in USED if its.get(name) is not None}
                groups = frozenset(_plain(group.name) for group in one.get_groups())
                others = {
                    name: json.loads(json.dumps(templar.template(its[name]), default=str))
                    for name in also
                    if name in its
                }
                found.append(host(_plain(one.name), told, groups, others))
    except AnsibleError as error:
        hint = (
            "set ANSIBLE_VAULT_PASSWORD_FILE" if "vault" in str(error).lower() else "ansible-inventory --list -i FILE"
        )
        raise UsageError(f"the inventory {source} cannot be read: {_one_line(str(error))}", hint) from None
    known = tuple(_plain(name) for name in (*inventory.groups, *inventory.hosts))
    if not inventory.hosts and said.getvalue().strip():
        raise UsageError(
            f"the inventory {source} cannot be read: {_one_line(said.getvalue())}", "ansible-inventory --list -i FILE"
        )
    return tuple(found), known


def _plain(value: object) -> str:
    """Return the value as a text of Python's own; Ansible's texts carry tags."""
    return "".join(str(value))


def _one_line(text: str) -> str:
    return " ".join(text.replace("[WARNING]:", "").split())[:300]


@contextlib.contextmanager
def _as_file(source: str) -> Iterator[str]:
    """Yield `source`, or a file with the content of a pipe, which can be read only once: `-i <(qops lab inventory)`."""
    if "," in source or Path(source).is_file() or Path(source).is_dir():
        yield source
        return
    with tempfile.TemporaryDirectory(prefix="qops-inventory-") as folder:
        try:
            content = Path(source).read_bytes()
        except OSError as error:
            raise UsageError(f"the inventory {source} cannot be read: {os.strerror(error.errno or 0)}") from None
        file = Path(folder, "inventory.ini" if content.lstrip().startswith(b"[") else "inventory.yml")
        file.write_bytes(content)
        yield str(file)
