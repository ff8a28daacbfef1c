"""The connections to a host: jump hosts first, as inventory and ssh_config say. No other module imports fabric."""

import contextlib
from typing import Any

import fabric
import paramiko  # type: ignore[import-untyped]
from paramiko.hostkeys import HostKeyEntry, InvalidHostKey  # type: ignore[import-untyped]

from qops.inventory.host import Host
from qops.transports import known_hosts
from qops.transports.ssh_errors import OnlyKnown


def chain(host: Host, seconds: float) -> tuple[Any, ...]:
    """Make fabric's connections, in the order in which they are to be opened: jump hosts first, the host last.

    `seconds` are for each of: connection, greeting, login, channel. Raises whatever the parser of an ssh_config that
    cannot be read meets.
    """
    told: dict[str, Any] = {"runtime_ssh_path": host.config} if host.config else {}
    if host.config == "none":
        told = {"ssh_config": paramiko.SSHConfig()}
    settings = fabric.Config(lazy=True, **told)  # lazy: fabric's own files, which may be programs, are left alone
    settings.load_ssh_config()
    config = settings.base_ssh_config.lookup(host.address)
    jump = host.jump or ("" if host.proxy_command else config.get("proxyjump", ""))
    hops = (
        [] if jump.lower() == "none" else [hop.strip().removeprefix("ssh://") for hop in jump.split(",") if hop.strip()]
    )
    command = host.proxy_command or ("" if host.jump else config.get("proxycommand", ""))
    links: list[Any] = []
    for hop in (*hops, ""):
        link = fabric.Connection(
            hop or host.address,
            user=None if hop else host.user or None,
            port=None if hop else host.port or None,
            gateway=links[-1] if links else False,  # False: not even the one that fabric would find
            config=settings,
            connect_timeout=seconds,
            connect_kwargs={
                "banner_timeout": seconds,
                "auth_timeout": seconds,
                "channel_timeout": seconds,
                "allow_agent": not host.only_key,
                "look_for_keys": not host.only_key,
                **({"key_filename": [host.key]} if host.key else {}),
            },
        )
        if command and not hops:
            for sign, word in (("%h", link.host), ("%p", str(link.port)), ("%r", link.user), ("%%", "%")):
                command = command.replace(sign, word)
            link.gateway = command
        link.client.set_missing_host_key_policy(OnlyKnown)  # fabric's own policy is to trust everybody
        name = known_hosts.name(link.host, link.port)
        for line in reversed(known_hosts.lines(key_files(link, host) or known_hosts.USUAL, name)):  # the first holds
            with contextlib.suppress(paramiko.SSHException, InvalidHostKey):
                if entry := HostKeyEntry.from_line(line):
                    link.client.get_host_keys().add(name, entry.key.get_name(), entry.key)
        links.append(link)
    return tuple(links)


def key_files(link: Any, host: Host) -> tuple[str, ...]:
    """Return the files of known hosts that the inventory or ssh_config names."""
    return host.known_hosts or tuple(link.ssh_config.get("userknownhostsfile", "").split())
