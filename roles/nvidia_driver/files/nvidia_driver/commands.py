"""Runs commands and says what is done. From qops, role nvidia_driver."""

import os
import subprocess
import sys
import time
from pathlib import Path

# No questions, no restarts of services behind our back, messages that can be read by programs.
QUIET = {
    "LC_ALL": "C.UTF-8",
    "DEBIAN_FRONTEND": "noninteractive",
    "DEBIAN_PRIORITY": "critical",
    "APT_LISTCHANGES_FRONTEND": "none",
    "NEEDRESTART_SUSPEND": "1",
}
ROOT = os.environ.get("QOPS_ROOT", "")  # a practice host shows its own /proc and /sys there


class RefusedError(Exception):
    """Nothing was changed, and why."""


class FailedError(Exception):
    """A step failed, after something may have been changed."""


def say(text):
    """Tell what is done, at once."""
    print(text, file=sys.stderr, flush=True)


def run(argv, *, timeout=3600.0, keep=True):
    """Return (exit status, output with errors). With `keep` false nothing is kept and the output is shown."""
    try:
        done = subprocess.run(
            argv,
            env={**os.environ, **QUIET},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if keep else sys.stderr,
            stderr=subprocess.STDOUT,
            timeout=timeout,
            check=False,
        )
    except FileNotFoundError:
        return 127, f"{argv[0]}: not found"
    except subprocess.TimeoutExpired:
        return 124, f"{argv[0]} did not end within {timeout:.0f} s"
    return done.returncode, (done.stdout or b"").decode("utf-8", "replace")


def output(argv, *, timeout=60.0):
    """Return what a command prints, "" where it fails."""
    try:
        done = subprocess.run(
            argv,
            env={**os.environ, **QUIET},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout,
            check=False,
        )
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""


def last(text, lines=12):
    """Return the last lines that say something."""
    return "\n".join([line for line in text.splitlines() if line.strip()][-lines:])


def read(path):
    """Return a file's text, "" where it cannot be read; of /proc and /sys a practice host's own."""
    if ROOT and path.startswith(("/proc/", "/sys/")):
        path = ROOT + path
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def make_log():
    """Return the end of what the compiler said, where a module was not built."""
    logs = sorted(Path("/var/lib/dkms").glob("nvidia*/*/build/make.log"), key=lambda path: path.stat().st_mtime)
    if not logs or time.time() - logs[-1].stat().st_mtime > 3600:
        return ""
    return f"\n{logs[-1]}:\n{last(logs[-1].read_text(encoding='utf-8', errors='replace'), 5)}"
