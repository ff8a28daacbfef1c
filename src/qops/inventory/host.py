"""One host of an inventory: everything that it takes to reach it, and nothing about what is wrong with it."""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from qops.errors import UsageError
from qops.inventory.password import Password

CLASSES = ("spark", "rtxpro", "rtx5090", "hgx")  # groups that say what kind of machine a host is
_TRUE = frozenset({"1", "yes", "true", "on", "y", "t"})  # what Ansible takes for yes, in lower case
_LOCAL = frozenset({"local", "docker", "podman", "chroot", "winrm", "psrp"})  # connections that are no SSH


def is_true(value: object) -> bool:
    """Whether a variable is true as Ansible takes it: a bool, or one of the words that it takes for one."""
    return str(value).lower() in _TRUE


@dataclass(frozen=True, slots=True)
class Host:
    """How to reach a host. An empty text leaves the matter to ssh_config, and then to ssh's own default."""

    name: str  # what the inventory calls it
    address: str  # where it is: a name or an IP address
    port: int = 0  # 0: ssh's own
    user: str = ""
    key: str = ""  # path of a private key
    known_hosts: tuple[str, ...] = ()  # files with host keys; empty: the user's and the system's
    jump: str = ""  # hosts in between, as ProxyJump has them; "none" for no jump whatever ssh_config says
    become: bool = False  # ask as root, through sudo
    class_: str = ""  # hardware class, where the inventory says it
    proxy_command: str = ""  # as ssh's ProxyCommand
    config: str = ""  # the ssh_config to read; "none" for none, empty for the user's and the system's
    only_key: bool = False  # offer no other key than `key`
    password: Password | None = field(default=None, compare=False)  # for sudo; None: sudo must ask for none
    variables: Mapping[str, Any] = field(default_factory=dict, compare=False)  # others that were asked for, by name


# Ansible's names for one thing; the last one that is set holds, as the ssh plugin of ansible-core has it.
_ADDRESS = ("inventory_hostname", "ansible_host", "ansible_ssh_host")
_PORT = ("ansible_port", "ansible_ssh_port")
_USER = ("ansible_user", "ansible_ssh_user")
_KEY = ("ansible_private_key_file", "ansible_ssh_private_key_file")
_ARGUMENTS = ("ansible_ssh_args", "ansible_ssh_common_args", "ansible_ssh_extra_args")
_BECOME = ("ansible_become", "ansible_become_method", "ansible_become_user")
_PASSWORD = ("ansible_sudo_pass", "ansible_become_pass", "ansible_become_password")
_CLASS = ("qops_hardware_class",)
USED = (*_ADDRESS[1:], *_PORT, *_USER, *_KEY, *_ARGUMENTS, *_BECOME, *_PASSWORD, *_CLASS, "ansible_connection")


def host(
    name: str,
    variables: Mapping[str, str],
    groups: frozenset[str] = frozenset(),
    others: Mapping[str, Any] | None = None,
) -> Host:
    """Make a host of its variables in the inventory, of which only those in `USED` count; `others` are kept with it.

    Raises UsageError for what cannot be done from here.
    """

    def last(names: tuple[str, ...], default: str = "") -> str:
        return next((variables[n] for n in reversed(names) if variables.get(n)), default)

    connection = variables.get("ansible_connection", "")
    if connection in _LOCAL:
        raise UsageError(
            f"host {name} has ansible_connection={connection}, and qops asks other hosts by SSH alone",
            f"leave it out: -l '!{name}'" + ("; for this machine: qops diagnose" if connection == "local" else ""),
        )
    become = is_true(last(("ansible_become",)))
    method, who = last(("ansible_become_method",), "sudo"), last(("ansible_become_user",), "root")
    if become and (method.removeprefix("ansible.builtin."), who) != ("sudo", "root"):
        raise UsageError(
            f"host {name} is to become {who} by {method}, and qops can only become root by sudo",
            "set ansible_become_method: sudo, or ansible_become: false to look without root",
        )
    port = last(_PORT, "0")
    if not (port.isascii() and port.isdigit() and len(port) < 6 and int(port) < 65536):
        raise UsageError(f"host {name} has the port {port!r}", "set ansible_port to a number from 1 to 65535")
    told = _Arguments(name, " ".join(variables[n] for n in _ARGUMENTS if variables.get(n)))
    return Host(
        name=name,
        address=last(_ADDRESS, name),
        port=int(port) or told.port,
        user=last(_USER) or told.user,
        key=_path(last(_KEY) or told.key),
        known_hosts=tuple(_path(f) for f in told.known_hosts),
        jump=told.jump,
        become=become,
        class_=last(_CLASS) or next((c for c in CLASSES if c in groups), ""),
        proxy_command=told.proxy_command,
        config=told.config if told.config == "none" else _path(told.config),
        only_key=told.only_key,
        password=Password(last(_PASSWORD)) if become and last(_PASSWORD) else None,
        variables=others or {},
    )


class _Arguments:
    """The arguments for ssh in an inventory, as far as they change where a host is and how it is trusted."""

    def __init__(self, name: str, text: str) -> None:
        self.port = 0
        self.user = self.key = self.jump = self.proxy_command = self.config = ""
        self.only_key = False
        self.known_hosts: tuple[str, ...] = ()
        try:
            options = tuple(_options(shlex.split(text)))
        except ValueError as error:
            raise UsageError(f"host {name}: its ssh arguments cannot be read ({error}): {text}") from None
        for option, value in reversed(options):  # with ssh the first one holds
            self._take(option, value)

    def _take(self, option: str, value: str) -> None:
        if option in ("l", "user"):
            self.user = value
        elif option in ("p", "port"):
            self.port = int(value) if value.isdigit() and len(value) < 6 else 0
        elif option in ("i", "identityfile"):
            self.key = value
        elif option in ("J", "proxyjump"):
            self.jump = value
        elif option == "proxycommand":
            self.proxy_command = "" if value == "none" else value
        elif option == "F":
            self.config = value
        elif option == "identitiesonly":
            self.only_key = value.lower() == "yes"
        elif option == "userknownhostsfile":
            self.known_hosts = tuple(f for f in shlex.split(value) if f != "/dev/null")


def _options(words: list[str]) -> Iterator[tuple[str, str]]:
    """Yield (option, value): the letter of a short option, or the name after `-o` in lower case."""
    rest = iter(words)
    for word in rest:
        letter, value = word[1:2], word[2:]
        if not word.startswith("-") or letter not in "lpiJFo" or not letter:
            continue
        value = value or next(rest, "")
        if letter != "o":
            yield letter, value
            continue
        key, _, given = value.replace("=", " ", 1).strip().partition(" ")
        yield key.lower(), given.strip().strip('"')


def _path(text: str) -> str:
    return str(Path(text.replace("%d", "~", 1) if text.startswith("%d") else text).expanduser()) if text else ""
