"""Asking another host by SSH, on one connection. Nothing is installed there."""

import contextlib
import logging
import math
import secrets
import select
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import paramiko  # type: ignore[import-untyped]

from qops.errors import TransportError
from qops.evidence.clock import HostClock
from qops.inventory.host import Host
from qops.transports.base import Completed, clean
from qops.transports.batch import Frames, Take
from qops.transports.batch_script import Put
from qops.transports.become import enter
from qops.transports.far import HELLO, Far, greeted, login, outcome, reading, supervised
from qops.transports.ssh_chain import chain, key_files
from qops.transports.ssh_errors import Place, explained, ungreeted
from qops.transports.streams import OUTPUT, Streams, received

CONNECT = 10.0  # seconds for each of: connection, greeting, login, first answer
CHANNELS = 8  # at once; sshd's MaxSessions is 10, and a session counts until what it ran has ended
TRIES = 3  # of a question that no shell began to run: sshd sometimes ends a session as it opens it
LINGER = 0.2  # seconds that are waited for output after the command itself has ended
_TICK = 0.05  # seconds between two looks at whether a command whose output stays open has ended

logging.getLogger("paramiko").addHandler(logging.NullHandler())  # else its tracebacks reach the terminal


class Ssh:
    """Another host. Safe to use from several threads; `open` or the first question makes the connection."""

    def __init__(self, host: Host) -> None:
        self.name = host.name
        self.lost = ""  # says so when the connection ended before `stop`
        self.clock: HostClock | None = None
        self._host = host
        self._opening = threading.Lock()
        self._free = threading.BoundedSemaphore(CHANNELS)
        self._lock = threading.Lock()
        self._channels: set[Any] = set()
        self._links: tuple[Any, ...] = ()  # fabric's connections: those to jump hosts, then the host's own
        self._far: Far | None = None
        self._refused: TransportError | None = None
        self._stopped = False

    def open(self) -> Far:
        """Connect, log in, and see what the host can do. Raises TransportError with what to do about it."""
        self.connect()
        with self._opening:
            if self._far is None:
                with self._refusing():
                    self._far = self._greet()
            return self._far

    def connect(self) -> None:
        """Connect and log in. Raises TransportError with what to do about it, and again each time after that."""
        with self._opening, self._refusing():
            if self._refused:
                raise self._refused
            if not self._links:
                self._connect()

    @contextlib.contextmanager
    def _refusing(self) -> Iterator[None]:
        try:
            yield
        except TransportError as error:
            self._refused = error
            self._close()
            raise

    def run(self, argv: tuple[str, ...], *, timeout: float) -> Completed:
        """Run `argv`, as root when the host is to become that, and end it after `timeout` seconds."""
        far = self.open()
        if any("\0" in word for word in argv):
            return Completed(b"", b"a command cannot hold a zero byte", None, 0.0, "failed")
        # One second more there than here: it counts only when the connection hangs.
        return self._ask(supervised(argv, far, math.ceil(timeout) + 1), timeout)

    def read(self, path: str, *, timeout: float) -> Completed:
        """Read the first 64 MiB of a file, from under the host's QOPS_ROOT where that has it."""
        return outcome(self.run(reading(path, OUTPUT), timeout=timeout), OUTPUT)

    def batch(self, puts: Sequence[Put], *, seconds: float, take: Take) -> bool:
        """Put all of `puts` in one round trip, where the host has timeout(1). See Batching.

        That trip is also the first: a host on which it does not begin is asked why.
        """
        self.connect()
        until = time.monotonic() + seconds + CONNECT
        frames = Frames(puts, secrets.token_hex(8))
        asked, reader = frames.asked(seconds)

        def attempt() -> bool:
            self._put(frames, asked, reader, until, take)
            return frames.begun or frames.refused or time.monotonic() > until - seconds

        self._repeated(attempt)
        if not self._is_up() and not self._stopped:
            self.lost = f"the connection to {self.name} was lost"
        elif not frames.begun and not frames.refused:
            self.open()
        return not frames.refused

    def _put(self, frames: Frames, asked: bytes, reader: str, until: float, take: Take) -> None:
        channel = None
        try:
            channel = self._channel(until)
            if channel is not None:
                data = bytes(self._begin(channel, reader, time.monotonic() + CONNECT).stdout)
                channel.sendall(asked[:-1])
                frames.sent = time.time()  # the host does not begin before it has the last byte
                channel.sendall(asked[-1:])
                first = min(until, time.monotonic() + CONNECT)
                while (data := data + received(channel, until if frames.begun else first)) and not self._stopped:
                    for number, at, done in frames.take(data):
                        self.clock = frames.clock  # before the last answer, after which nobody waits for this
                        take(number, at, done)
                    data = b""
        except (paramiko.SSHException, OSError, EOFError):
            pass  # what has not come back is missing; whether the connection has gone is told by the caller
        finally:
            if channel is not None:
                self._forget(channel)

    def renew(self) -> None:
        """End the connection, so that the next question makes a new one: after what may have rebooted the host."""
        with self._opening:
            self._close()
            self._links, self._far, self._refused, self.lost = (), None, None, ""

    def stop(self) -> None:
        """End every command that still runs, and the connection."""
        self._stopped = True
        self._close()

    def _connect(self) -> None:
        host = self._host
        try:
            self._links = chain(host, CONNECT)
        except Exception as error:  # an ssh_config that cannot be read raises whatever its parser meets
            raise TransportError(f"{host.name}: ssh_config: {clean(str(error))}", "ssh -G HOST reads it too") from None
        for link in self._links:
            try:
                link.open()
            except Exception as error:  # paramiko also raises what a damaged greeting makes of its parser
                keys, jump = key_files(link, host), link is not self._links[-1]
                place = Place(host.name, link.host, link.port, link.user, host.key, keys, jump, CONNECT)
                raise explained(error, place) from None

    def _greet(self) -> Far:
        """Ask for what all questions need; an answer of another kind is no POSIX shell's."""
        done = self._ask(HELLO, CONNECT)
        far = greeted(done.stdout)
        if far is not None:
            return far
        raise ungreeted(done, self._host, self._links[-1].user, CONNECT)

    def _ask(self, script: str, timeout: float) -> Completed:
        """Give `script` to a shell of the host and return what it says."""
        begun = time.monotonic()
        until = begun + timeout
        if not self._free.acquire(timeout=timeout):
            return Completed(b"", b"", None, timeout, "timeout")
        done = Completed(b"", b"", None, 0.0, "failed")

        def attempt() -> bool:
            nonlocal done
            heard, done = self._try(script, begun, until)
            return heard.begun or done.failure != "failed"

        try:
            self._repeated(attempt)
        finally:
            self._free.release()
        return done

    def _repeated(self, attempt: Callable[[], bool]) -> None:
        """Make an attempt, and again while it says that no shell began and the connection is up: TRIES in all."""
        for _ in range(TRIES):
            if attempt() or not self._is_up():
                return
            time.sleep(0.1)

    def _try(self, script: str, begun: float, until: float) -> tuple[Streams, Completed]:
        heard = Streams("")
        channel = None
        try:
            channel = self._channel(until)
            if channel is not None:
                heard = self._begin(channel, script, until)
                return heard, self._hear(channel, heard, begun, until)
        except (paramiko.SSHException, OSError, EOFError):
            pass  # what that means is told below
        finally:
            if channel is not None:
                self._forget(channel)
        return heard, self._gone(heard, begun, until)

    def _begin(self, channel: Any, script: str, until: float) -> Streams:
        """Have `script` run in `channel`; return its streams, where a password was needed from its first word on."""
        host, mark = self._host, secrets.token_hex(8)
        prompt = f"{mark}?" if host.become and host.password else ""
        script = f"echo {mark}\n{f'echo {mark} >&2' if prompt else ''}\n{script}"
        channel.exec_command(login(script, become=host.become, prompt=prompt).encode(errors="replace"))
        heard = Streams(mark, prompt)
        if prompt and host.password:
            enter(channel, heard, host.password, host.name, until)
        return heard

    def _channel(self, until: float) -> Any:
        """Open a channel, or return None: the connection has gone, or the host takes no more sessions in time."""
        while self._is_up() and time.monotonic() < until:
            try:
                channel = self._links[-1].transport.open_session(timeout=max(0.1, until - time.monotonic()))
            except paramiko.ChannelException:  # commands that hang hold the sessions that sshd allows
                time.sleep(0.1)
                continue
            with self._lock:
                self._channels.add(channel)
            return channel
        return None

    def _forget(self, channel: Any) -> None:
        with self._lock:
            self._channels.discard(channel)
        with contextlib.suppress(Exception):
            channel.close()  # the command ends too: its input does

    def _hear(self, channel: Any, heard: Streams, begun: float, until: float) -> Completed:
        """Read both streams of `channel` until the command has ended or its time has."""
        pipe = select.poll()
        pipe.register(channel.fileno(), select.POLLIN)
        ended_at = 0.0
        while True:
            now = time.monotonic()
            # Looked at before the streams: what comes with the end is then not missed.
            ended, silent = channel.exit_status_ready(), channel.closed or channel.eof_received
            if heard.take(channel) and now < until:
                continue
            if ended:
                ended_at = ended_at or now
                if silent or now - ended_at > LINGER:  # or a grandchild keeps the output open
                    break
            if now >= until:
                return heard.completed(None, now - begun, "timeout")
            if silent:  # then the pipe is readable all the time
                time.sleep(0.005)
            else:
                pipe.poll(1000 * min(_TICK, until - now))
        status = channel.recv_exit_status()
        if status < 0:  # none was sent: the connection has gone, or the shell was killed
            return self._gone(heard, begun, until)
        return heard.completed(status, time.monotonic() - begun)

    def _gone(self, heard: Streams, begun: float, until: float) -> Completed:
        """Return what came back of a question whose end was not seen."""
        now = time.monotonic()
        if self._is_up():
            if now >= until:
                return heard.completed(None, now - begun, "timeout")
            reason = "the host started no session for it, or killed it"
        elif self._stopped:
            reason = "stopped"
        else:
            reason = self.lost = f"the connection to {self.name} was lost"
        heard.stderr += b"\n" * bool(heard.stderr) + reason.encode()
        return heard.completed(None, now - begun, "failed")

    def _is_up(self) -> bool:
        transport = self._links[-1].transport if self._links else None
        return not self._stopped and transport is not None and transport.is_active()

    def _close(self) -> None:
        with self._lock:
            channels = tuple(self._channels)
        for channel in channels:
            with contextlib.suppress(Exception):
                channel.close()
        for link in reversed(self._links):
            transport = link.client.get_transport()
            with contextlib.suppress(Exception):
                link.client.close()
            proxy = getattr(getattr(transport, "sock", None), "process", None)
            if proxy is None:
                continue
            transport.join(2)  # its thread still signals the process of a ProxyCommand, and then forgets it
            if not transport.is_alive():
                proxy.kill()
                for pipe in (proxy.stdin, proxy.stdout, proxy.stderr):
                    pipe.close()
                proxy.wait()
