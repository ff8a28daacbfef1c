"""Why a host could not be reached, in words, with the command that helps."""

import shlex
import socket
from dataclasses import dataclass
from typing import Any

from qops.errors import TransportError
from qops.inventory.host import Host
from qops.transports.base import Completed, clean


class UnknownKey(Exception):  # noqa: N818 - it says what is so
    """A host shows a key that no file of known hosts has."""

    def __init__(self, kind: str, fingerprint: str) -> None:
        super().__init__(f"{kind} {fingerprint}")
        self.kind = kind
        self.fingerprint = fingerprint


class OnlyKnown:
    """The policy for hosts that no file of known hosts has: they are not talked to."""

    def missing_host_key(self, client: object, hostname: str, key: Any) -> None:
        """Refuse; paramiko calls it with its own kind of key."""
        raise UnknownKey(key.get_name(), key.fingerprint)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a connection was going when it failed."""

    name: str  # what the inventory calls the host
    address: str
    port: int
    user: str
    key: str
    known_hosts: tuple[str, ...]
    jump: bool  # whether this is a jump host on the way to `name`
    seconds: float  # how long each step may take

    @property
    def ssh(self) -> str:
        """The ssh command that shows the same, and asks what ssh asks."""
        words = ["ssh"]
        if self.known_hosts:
            words += ["-o", f"UserKnownHostsFile={self.known_hosts[0]}"]
        if self.key:
            words += ["-i", self.key]
        if self.port != 22:
            words += ["-p", str(self.port)]
        return shlex.join([*words, f"{self.user}@{self.address}"])

    @property
    def shown(self) -> str:
        """How messages name it."""
        at = f"{self.address}:{self.port}"
        return (
            f"{self.name}: jump host {at}" if self.jump else at if self.name == self.address else f"{self.name} ({at})"
        )


def explained(error: Exception, place: Place) -> TransportError:
    """Return the TransportError that says what happened, why, and what to do.

    Errors of the SSH library are known by their names, so that only one module has to import it.
    """
    names = {kind.__name__ for kind in type(error).__mro__}
    said = clean(str(error)).replace("\n", " ")[:300]
    shown = place.shown
    if isinstance(error, UnknownKey):
        return TransportError(
            f"{shown} shows a host key that is in no file of known hosts ({error.kind} {error.fingerprint})",
            f"compare the fingerprint with the host's own, and let ssh remember it: {place.ssh} true",
        )
    if "BadHostKeyException" in names:
        listed = place.address if place.port == 22 else f"[{place.address}]:{place.port}"
        file = f" -f {shlex.quote(place.known_hosts[0])}" if place.known_hosts else ""
        return TransportError(
            f"{shown} shows another host key than the known one: it was set up anew, or something else answers there",
            f"when you know why: ssh-keygen{file} -R {shlex.quote(listed)}; {place.ssh} true",
        )
    if names & {"AuthenticationException", "PasswordRequiredException"} or "authentication" in said.lower():
        return TransportError(
            f"{shown} does not let {place.user} in: {said or 'no key was accepted'}",
            f"see which keys are offered: {place.ssh} -v true (qops asks for no password: use a key or an agent)",
        )
    if isinstance(error, socket.gaierror):
        return TransportError(
            f"{shown}: there is no address for this name ({error.strerror})",
            f"getent hosts {place.address}; set ansible_host in the inventory",
        )
    if isinstance(error, FileNotFoundError):
        return TransportError(f"{shown}: {error.filename} is not there", "set ansible_ssh_private_key_file, or make it")
    if "banner" in said or "No existing session" in said:  # the second when both of paramiko's clocks ran out
        return TransportError(
            f"{shown} takes the connection, but does not greet as sshd does within {place.seconds:.0f} s",
            f"see whether that is sshd's port, and whether the host hangs: {place.ssh} -v true",
        )
    if isinstance(error, TimeoutError) or "timed out" in said.lower() or "timeout" in said.lower():
        return TransportError(
            f"{shown} does not answer within {place.seconds:.0f} s", f"ping {place.address}; {place.ssh} -v true"
        )
    if isinstance(error, OSError):
        reasons = getattr(error, "errors", {})  # NoValidConnectionsError: one for each address
        reason = next((e.strerror for e in reasons.values()), error.strerror) or said
        return TransportError(
            f"{shown} cannot be reached: {reason.lower()}",
            f"see whether sshd runs there and listens on port {place.port}: {place.ssh} -v true",
        )
    return TransportError(f"{shown}: {said or type(error).__name__}", f"{place.ssh} -v true")


def ungreeted(done: Completed, host: Host, user: str, seconds: float) -> TransportError:
    """Return the TransportError for a host where `user` logs in and gets no POSIX shell, or none of root's.

    `done` is what came in place of a greeting, within `seconds`.
    """
    said = clean((done.stderr or done.stdout).decode(errors="replace")).strip().splitlines()
    reason = said[-1][:200] if said else f"no answer within {seconds:.0f} s" if done.failure else "it says nothing"
    if not host.become:
        return TransportError(
            f"{host.name}: {user} gets no POSIX shell there: {reason}",
            f"see what answers: ssh {user}@{host.address} 'echo hello'; name another user by ansible_user",
        )
    by, give = ("sudo", "see") if host.password else ("`sudo -n`", "give its password with -K, or see")
    return TransportError(
        f"{host.name}: {user} does not become root by {by}: {reason}",
        f"{give} that sudo lets {user} in without one (visudo: {user} ALL=(root) NOPASSWD: ALL), log in as root, "
        "or set ansible_become: false to look without root",
    )
