"""The password with which a user becomes root: shown nowhere, and not tried so often that it locks an account."""

import contextlib
import threading
from collections.abc import Iterator

from qops.errors import TransportError

MOST = 2  # hosts that refuse it before any takes it; pam_faillock locks an account at the third failure by default


class Password:
    """A password for sudo, which several hosts may share. Safe to use from several threads."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._turn = threading.Lock()
        self._taken = False
        self._refused: list[str] = []

    def __repr__(self) -> str:
        return "Password(…)"

    @contextlib.contextmanager
    def attempt(self, host: str) -> Iterator[None]:
        """Let `host` be given the password: one host after the other until one has taken it, then all at once.

        An account of a directory is the same on all hosts, and a wrong password would be a failure for each of them.
        TransportError when it was refused by `MOST` others and taken by none.
        """
        self._turn.acquire()
        alone = not self._taken
        if not alone:
            self._turn.release()
        try:
            if alone and len(self._refused) >= MOST:
                raise TransportError(
                    f"{host}: the password for sudo is not tried here: {' and '.join(self._refused)} refused it, and "
                    "no host has taken it",
                    "run it again with the right password; where hosts differ, set ansible_become_password for each",
                )
            yield
        finally:
            if alone:
                self._turn.release()

    def taken(self) -> None:
        """Note that a host has taken it."""
        self._taken = True

    def refused(self, host: str) -> None:
        """Note that `host` has refused it."""
        self._refused.append(host)
