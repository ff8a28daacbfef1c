"""Asking this machine: commands with a time-out that holds whatever they do, and files that cannot block."""

import os
import selectors
import signal
import stat
import subprocess
import threading
import time
from pathlib import Path

from msgspec.structs import replace

from qops.transports.answer import failure
from qops.transports.base import Completed

OUTPUT = 64 << 20  # bytes of standard output (or of a file) that are kept
ERRORS = 1 << 20  # bytes of standard error that are kept
MERCY = 1.0  # seconds between SIGTERM and SIGKILL, and again until a child counts as one that cannot be killed
LINGER = 0.2  # seconds that are waited for output after the command itself has ended
_CHUNK = 1 << 18
_ROOTED = ("/sys/", "/proc/", "/dev/")  # what a practice host or a test may show in place of the machine's own
_SBIN = "/usr/local/sbin:/usr/sbin:/sbin"  # lspci and dmidecode stand there, and are not on every user's path


class Local:
    """This machine. Safe to use from several threads."""

    def __init__(self) -> None:
        self.name = os.uname().nodename
        self._running: set[subprocess.Popen[bytes]] = set()
        self._abandoned: list[subprocess.Popen[bytes]] = []  # kept, so that nothing waits for them
        self._lock = threading.Lock()
        self._root = os.environ.get("QOPS_ROOT", "")

    def run(self, argv: tuple[str, ...], *, timeout: float) -> Completed:
        """Run `argv` in a process group of its own, which is killed after `timeout` seconds."""
        begun = time.monotonic()
        try:
            process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                cwd="/",
                env=_environment(),
            )
        except (OSError, ValueError) as error:
            return _not_run(error, begun)
        with self._lock:
            self._running.add(process)
        try:
            stdout, stderr, discarded, timed_out = _drain(process, begun + timeout)
            ended = not timed_out and _wait(process, max(0.0, begun + timeout - time.monotonic()))
            if not ended:
                self._end(process)
        finally:
            for pipe in (process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()
            with self._lock:
                self._running.discard(process)
        seconds = time.monotonic() - begun
        if not ended:
            return Completed(stdout, stderr, None, seconds, "timeout", discarded)
        return Completed(stdout, stderr, process.returncode, seconds, "", discarded)

    def read(self, path: str, *, timeout: float) -> Completed:
        """Read the first 64 MiB of a file. A child process does it: one that hangs in the kernel can be left alone."""
        begun = time.monotonic()
        found: list[Completed | tuple[str, int]] = []
        looker = threading.Thread(target=lambda: found.append(self._look(path, begun)), daemon=True)
        looker.start()
        looker.join(timeout)
        if not found:
            return Completed(b"", b"", None, time.monotonic() - begun, "timeout")
        if isinstance(found[0], Completed):
            return found[0]
        path, size = found[0]
        left = max(0.0, timeout - (time.monotonic() - begun))
        done = self.run(("head", "-c", str(OUTPUT), "--", path), timeout=left)
        if done.status and not done.failure:
            return replace(done, failure=failure(done.stderr))
        return replace(done, discarded=max(0, size - OUTPUT))

    def stop(self) -> None:
        """End every command that still runs."""
        with self._lock:
            running = tuple(self._running)
        for process in running:
            _signal(process, signal.SIGTERM)
        until = time.monotonic() + MERCY
        while time.monotonic() < until and any(process.returncode is None for process in running):
            time.sleep(0.02)
        for process in running:
            if process.returncode is None:
                _signal(process, signal.SIGKILL)

    def _look(self, path: str, begun: float) -> Completed | tuple[str, int]:
        """Return where `path` is and how large, or why it is not to be read."""
        try:
            if self._root and path.startswith(_ROOTED):
                there = Path(self._root) / path.lstrip("/")
                path = str(there) if there.exists() else path
            status = Path(path).stat()
        except (OSError, ValueError) as error:
            return _not_run(error, begun)
        if not stat.S_ISREG(status.st_mode):
            kind = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
            return Completed(b"", kind.encode(), None, time.monotonic() - begun, "failed")
        return path, status.st_size

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """Kill the group. A child in uninterruptible sleep does not even die of SIGKILL: it is left behind."""
        _signal(process, signal.SIGTERM)
        if _wait(process, MERCY):
            _signal(process, signal.SIGKILL)  # the rest of its group may have ignored the first signal
            return
        _signal(process, signal.SIGKILL)
        if not _wait(process, MERCY):
            with self._lock:
                self._abandoned.append(process)


def _environment() -> dict[str, str]:
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    environment.pop("LANGUAGE", None)  # gettext prefers it to LC_ALL
    environment["PATH"] = f"{environment.get('PATH', '/usr/bin:/bin')}:{_SBIN}"
    return environment


def _not_run(error: Exception, begun: float) -> Completed:
    kind = "failed"
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        kind = "missing"
    elif isinstance(error, PermissionError):
        kind = "denied"
    reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
    return Completed(b"", reason.encode(errors="replace"), None, time.monotonic() - begun, kind)


def _drain(process: subprocess.Popen[bytes], until: float) -> tuple[bytes, bytes, int, bool]:
    """Read both pipes until they end: (stdout, stderr, bytes discarded, whether the time ran out first)."""
    kept: dict[int, bytearray] = {}
    limits: dict[int, int] = {}
    discarded = 0
    with selectors.DefaultSelector() as selector:
        for pipe, limit in ((process.stdout, OUTPUT), (process.stderr, ERRORS)):
            if pipe is not None:
                os.set_blocking(pipe.fileno(), False)
                selector.register(pipe, selectors.EVENT_READ)
                kept[pipe.fileno()], limits[pipe.fileno()] = bytearray(), limit
        ended_at = 0.0
        timed_out = False
        while selector.get_map():
            now = time.monotonic()
            if now >= until:
                timed_out = True
                break
            if not ended_at and process.poll() is not None:
                ended_at = now
            if ended_at and now - ended_at > LINGER:
                break  # a grandchild keeps the pipe open; the command itself has said all
            for key, _ in selector.select(min(0.05, until - now)):
                chunk = os.read(key.fd, _CHUNK)
                if not chunk:
                    selector.unregister(key.fileobj)
                room = limits[key.fd] - len(kept[key.fd])
                kept[key.fd] += chunk[:room]
                discarded += max(0, len(chunk) - room)
    stdout, stderr = (bytes(data) for data in kept.values())
    return stdout, stderr, discarded, timed_out


def _wait(process: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):
        return
