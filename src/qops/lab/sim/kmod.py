"""modprobe, rmmod, lsmod and modinfo for the driver's modules; all others are left to the real tools.

Loading takes the version that is installed, unloading fails while somebody holds the module: what turns an
upgraded driver into a running one without a reboot, or does not.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence

from . import NOTICE, driver, faults, hardware, modules_on_disk, passthrough, processes, procfs, store
from .tree import Tree

_OURS = ("nvidia", "nvidia_uvm", "nvidia_modeset", "nvidia_drm", "nvidia_peermem")
# Daemons that keep the device files of the driver open.
_HOLDERS = ("nvidia-persistenced", "nv-fabricmanager", "nv-hostengine")
# Loaded by what a host with RDMA devices has, and no module of the simulator's.
_FABRIC = ("mlx5_core", "mlx5_ib", "ib_umad", "ib_uverbs", "ib_core", "rdma_cm", "rdma_ucm")
# What the driver forgets when it is unloaded.
VOLATILE = ("power_limit", "locked_clocks", "persistence")


def _helped(tool: str, arguments: Sequence[str]) -> bool:
    if list(arguments) not in (["-h"], ["--help"]):
        return False
    sys.stdout.write(f"{NOTICE}\n{tool}: answers for {', '.join(_OURS)}; for others the real tool does\n")
    return True


def _lines() -> list[str]:
    try:
        return (store.root() / "proc/modules").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def _loaded() -> list[str]:
    return [line.split(" ", 1)[0] for line in _lines()]


def _held(here: hardware.Hardware) -> bool:
    """Tell whether a process has the driver open."""
    return processes.runs(*_HOLDERS) or bool(processes.running(here))


def _load(here: hardware.Hardware) -> bool:
    """Load the installed module; return false where there is none for this kernel."""
    if driver.absent(here, faults.load()):
        return False
    procfs.load_driver(Tree(store.root()), here, faults.load(), store.system())
    return True


def _drop(name: str) -> None:
    root = store.root()
    rest = [line for line in _lines() if line.split(" ", 1)[0] != name]
    (root / "proc/modules").write_text("".join(f"{line}\n" for line in rest), encoding="utf-8")
    if name != "nvidia":
        return
    for path in (
        root / "proc/driver/nvidia",
        root / "sys/module/nvidia",
        root / "sys/module/nvidia_uvm",
        root / "dev/nvidia-caps",
    ):
        shutil.rmtree(path, ignore_errors=True)
    for path in (root / "dev").glob("nvidia*"):
        path.unlink()
    state = {key: value for key, value in store.state().items() if key not in VOLATILE}
    store.write_json(store.var() / "state.json", state)


def _why_not(here: hardware.Hardware, name: str) -> str:
    """Return why a loaded module cannot go, in the kernel's words, or nothing."""
    others = [one for one in _loaded() if one in _OURS and one != name] if name == "nvidia" else []
    if others:
        return f"is in use by: {' '.join(others)}"
    # An engine has both open, a daemon the first.
    busy = _held(here) if name == "nvidia" else bool(processes.running(here))
    return "is in use" if busy else ""


def _modprobe_remove(here: hardware.Hardware, names: Sequence[str]) -> int:
    for name in names:
        if name not in _loaded():
            if name not in _OURS:
                return passthrough.real("modprobe", ["-r", *names])
            continue
        if _why_not(here, name):
            sys.stderr.write(f"modprobe: FATAL: Module {name} is in use.\n")
            return 1
        _drop(name)
        # What it alone needed goes with it, unless that is held.
        if name != "nvidia" and not _why_not(here, "nvidia"):
            _drop("nvidia")
    return 0


def modprobe(arguments: Sequence[str]) -> int:
    """Load or, with -r, unload modules."""
    if _helped("modprobe", arguments):
        return 0
    here = hardware.load()
    names = [one.replace("-", "_") for one in arguments if not one.startswith("-")]
    options = [one for one in arguments if one.startswith("-")]
    if here is None or not names:
        return passthrough.real("modprobe", arguments)
    if {"-r", "--remove"} & set(options):
        return _modprobe_remove(here, names)
    wanted = names if {"-a", "--all"} & set(options) else names[:1]
    for name in wanted:
        if name in _FABRIC and here.nics:
            continue
        if name not in _OURS:
            return passthrough.real("modprobe", arguments)
        if "nvidia" not in _loaded() and not _load(here):
            kernel = store.read_line(store.root() / "proc/sys/kernel/osrelease") or here.kernel
            sys.stderr.write(f"modprobe: FATAL: Module {name} not found in directory /lib/modules/{kernel}\n")
            return 1
        if name not in _loaded():
            path = store.root() / "proc/modules"
            path.write_text(f"{name} 16384 0 - Live 0xffffffffc0a00000 (O)\n" + path.read_text(encoding="utf-8"))
    return 0


def rmmod(arguments: Sequence[str]) -> int:
    """Unload modules one by one."""
    if _helped("rmmod", arguments):
        return 0
    here = hardware.load()
    names = [one.replace("-", "_") for one in arguments if not one.startswith("-")]
    if here is None or not set(names) & set(_OURS):
        return passthrough.real("rmmod", arguments)
    for name in names:
        if name not in _loaded():
            sys.stderr.write(f"rmmod: ERROR: Module {name} is not currently loaded\n")
            return 1
        why = _why_not(here, name)
        if why:
            sys.stderr.write(f"rmmod: ERROR: Module {name} {why}\n")
            return 1
        _drop(name)
    return 0


def lsmod(arguments: Sequence[str]) -> int:
    """List what is loaded."""
    if _helped("lsmod", arguments):
        return 0
    if hardware.load() is None:
        return passthrough.real("lsmod", arguments)
    rows = [line.split() for line in _lines()]
    sys.stdout.write("Module                  Size  Used by\n")
    for row in rows:
        used = [one[0] for one in rows if row[0] == "nvidia" and one[0] in _OURS and one[0] != "nvidia"]
        sys.stdout.write(f"{row[0]:<19} {row[1]:>8}  {len(used)} {','.join(used)}".rstrip() + "\n")
    return 0


def modinfo(arguments: Sequence[str]) -> int:
    """Say of which version the installed module is."""
    if _helped("modinfo", arguments):
        return 0
    here = hardware.load()
    names = [one for one in arguments if one.replace("-", "_") in _OURS]
    if here is None or not names:
        return passthrough.real("modinfo", arguments)
    version = driver.installed(here, "module")
    if driver.absent(here, faults.load()):
        sys.stderr.write(f"modinfo: ERROR: Module {names[0]} not found.\n")
        return 1
    fields = {
        "filename": modules_on_disk.file(here.kernel).replace("nvidia.ko", names[0].replace("_", "-") + ".ko"),
        "version": version,
        "license": driver.LICENCES[driver.flavour()],
    }
    if "-F" in arguments:
        wanted = arguments[arguments.index("-F") + 1]
        sys.stdout.write(f"{fields[wanted]}\n" if wanted in fields else "")
        return 0
    sys.stdout.write("".join(f"{key + ':':<16}{value}\n" for key, value in fields.items()))
    return 0
