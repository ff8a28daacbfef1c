"""Becoming root by sudo with a password, which goes to sudo's standard input when it asks, and nowhere else."""

import select
import time
from typing import Any

from qops.errors import TransportError
from qops.inventory.password import Password
from qops.transports.base import clean
from qops.transports.streams import Streams

ANSWER = 10.0  # seconds that sudo may take to judge a password; PAM waits two to three before it refuses one
_TICK = 0.05  # seconds between two looks at whether the channel has been closed


def enter(channel: Any, heard: Streams, password: Password, host: str, until: float) -> None:
    """Give sudo the password if it asks `channel` for it, and return when root's shell has begun or nothing comes.

    It is given once: the second time that sudo asks, it has refused it. Then, and when sudo ends without a shell,
    TransportError says so. `until` is on the monotonic clock.
    """
    _wait(channel, heard, until, asked=1)
    if heard.begun or not heard.asked:
        return
    with password.attempt(host):
        channel.sendall(password.text.encode() + b"\n")
        _wait(channel, heard, time.monotonic() + ANSWER, asked=2)
        if heard.begun:
            password.taken()
            return
        said = [line.strip() for line in clean(heard.stderr.decode(errors="replace")).splitlines()]
        reasons = [line[:200] for line in said if line and heard.mark.decode() not in line]
        if heard.asked < 2 and not any("incorrect password" in line for line in reasons):
            raise TransportError(
                f"{host}: sudo asks for a password and gives no shell for it: "
                + (reasons[-1] if reasons else f"no answer within {ANSWER:.0f} s"),
                "log in there and see what `sudo -k true` says",
            )
        password.refused(host)
    raise TransportError(
        f"{host}: sudo refuses the password",
        "it was tried once; log in there and see whether `sudo -k true` takes it",
    )


def _wait(channel: Any, heard: Streams, until: float, *, asked: int) -> None:
    pipe = select.poll()
    pipe.register(channel.fileno(), select.POLLIN)
    while time.monotonic() < until:
        # Looked at before the streams: what comes with the end is then not missed.
        ended = channel.closed or channel.eof_received
        some = heard.take(channel)
        if heard.begun or heard.asked >= asked or (ended and not some):
            return
        if ended:  # then the pipe is readable all the time
            time.sleep(0.005)
        elif not some:
            pipe.poll(1000 * _TICK)
