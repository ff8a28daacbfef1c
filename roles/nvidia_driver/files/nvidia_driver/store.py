"""What is kept in /var/lib/qops/nvidia_driver: the journal of a change, and the packages of the last good state.

journal.json        what a change has in mind; there from before the first step until all is well again
states/580.95.05-1  package files and manifest.json of a state; complete, or not there
last-good           a link to the state to go back to
"""

import contextlib
import fcntl
import json
import os
import shutil
import time
from pathlib import Path

from commands import FailedError, say

HOME = Path("/var/lib/qops/nvidia_driver")
JOURNAL = HOME / "journal.json"
STATES = HOME / "states"
LAST_GOOD = HOME / "last-good"
REBOOT = Path("/run/reboot-required")
LOCK = Path("/run/qops-nvidia-driver.lock")


def _sync(folder):
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write(path, text):
    """Replace a file in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f"{path.name}.new")
    with fresh.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
    _sync(path.parent)


@contextlib.contextmanager
def locked(seconds=1800.0):
    """Let one change happen at a time; a second one waits, as after a lost connection."""
    with LOCK.open("w", encoding="utf-8") as file:
        until = time.monotonic() + seconds
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() > until:
                    raise FailedError("another change of the driver is under way") from None
                time.sleep(1)
        yield


def journal():
    """Return what an unfinished change had in mind, {} for none."""
    try:
        found = json.loads(JOURNAL.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        return {"step": "unknown"}
    return found if isinstance(found, dict) else {"step": "unknown"}


def note(entry):
    """Write the journal."""
    write(JOURNAL, json.dumps(entry, indent=1) + "\n")


def close():
    """End the journal."""
    with contextlib.suppress(FileNotFoundError):
        JOURNAL.unlink()
        _sync(HOME)


def manifest(state):
    """Return a state's manifest, None where it is not there or not complete."""
    try:
        found = json.loads((state / "manifest.json").read_text(encoding="utf-8"))
        whole = all((state / p["file"]).stat().st_size == p["size"] for p in found["packages"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if whole else None


def last_good():
    """Return (folder, manifest) of the state to go back to, (None, None) for none."""
    folder = STATES / LAST_GOOD.readlink().name if LAST_GOOD.is_symlink() else None
    found = manifest(folder) if folder else None
    return (folder, found) if found else (None, None)


def keep(packages, collect, files):
    """Keep the files of `packages` ({name, version, arch, held}) as a state; return its folder.

    `collect(packages, folder)` puts the package files into a folder and sets "file" of each. `files` are other files
    (path to text, None for: not there) that belong to the state. Done before or not at all.
    """
    lead = next((p["version"] for p in packages if p["lead"]), "unknown")
    folder = STATES / (lead.partition(":")[2] or lead)
    known = manifest(folder)
    if known and _names(known["packages"]) == _names(packages):
        return folder
    fresh = folder.with_name(f"{folder.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(mode=0o700, parents=True)
    collect(packages, fresh)
    for package in packages:
        package["size"] = (fresh / package["file"]).stat().st_size
    text = {"packages": packages, "files": files, "made": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
    write(fresh / "manifest.json", json.dumps(text, indent=1) + "\n")
    os.sync()
    shutil.rmtree(folder, ignore_errors=True)
    fresh.replace(folder)
    _sync(STATES)
    say(f"kept {len(packages)} packages in {folder}")
    return folder


def _names(packages):
    return {(p["name"], p["version"]) for p in packages}


def make_last_good(folder):
    """Let the way back lead to a state, in one step."""
    fresh = LAST_GOOD.with_name("last-good.new")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(folder.relative_to(HOME))
    fresh.replace(LAST_GOOD)
    _sync(HOME)


def ask_for_reboot():
    """Say that a reboot is needed, as Debian's packages do; the files are gone after it."""
    REBOOT.write_text("*** System restart required ***\n", encoding="utf-8")
    with REBOOT.with_suffix(".pkgs").open("a", encoding="utf-8") as file:
        file.write("nvidia-driver\n")


def prune(kept):
    """Drop all states but some."""
    for path in STATES.iterdir() if STATES.is_dir() else ():
        if path not in kept:
            shutil.rmtree(path, ignore_errors=True)
