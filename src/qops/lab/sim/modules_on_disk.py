"""The kernels' module folders, real ones on the host's own disk: what find, dkms and the toolkit's units look at."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from . import faults, store
from .hardware import Hardware

_DKMS = "updates/dkms/nvidia.ko"
_RUN_FILE = "kernel/drivers/video/nvidia.ko"  # where the installer of a .run file puts it without dkms
_TEXT = "a stand-in of the qops lab, no kernel module\n"


def _folder() -> Path:
    return store.system() / "lib/modules"


def file(kernel: str) -> str:
    """Return the path of a kernel's NVIDIA module, whether a package brought it or the scenario."""
    packaged = (_folder() / kernel / _DKMS).exists()
    return f"/lib/modules/{kernel}/{_DKMS if packaged else _RUN_FILE}"


def built(kernel: str) -> bool:
    """Tell whether a kernel has an NVIDIA module."""
    return any((_folder() / kernel / path).exists() for path in (_DKMS, _RUN_FILE))


def lay_out(hardware: Hardware, planted: faults.Faults) -> None:
    """Make the folders of the scenario's kernel and of the running one, and put the scenario's driver in the first.

    Once packages have had a say in the driver, what they install is all there is.
    """
    running = faults.kernel(planted, hardware.kernel)
    for kernel in (hardware.kernel, running):
        (_folder() / kernel).mkdir(parents=True, exist_ok=True)
    own = _folder() / hardware.kernel / _RUN_FILE
    if (store.var() / "driver-module").exists():
        own.unlink(missing_ok=True)
    else:
        own.parent.mkdir(parents=True, exist_ok=True)
        own.write_text(_TEXT, encoding="utf-8")
    for folder in _folder().iterdir():
        if folder.is_symlink():
            continue
        if folder.name not in (hardware.kernel, running) and [path.name for path in folder.iterdir()] == [
            "modules.dep"
        ]:
            shutil.rmtree(folder)  # of an upgrade that is mended
        else:
            _index(folder)
    _link(running)


def _index(folder: Path) -> None:
    """Write what depmod would; a unit of the container toolkit waits for changes, so only what is new is written."""
    text = "".join(f"{path.relative_to(folder)}:\n" for path in sorted(folder.rglob("*.ko")))
    path = folder / "modules.dep"
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def _link(running: str) -> None:
    """Let the machine's own kernel release, which systemd puts for %v, lead to the simulated kernel's folder."""
    real = _folder() / os.uname().release
    if real.is_symlink():
        real.unlink()
    if not real.exists():
        real.symlink_to(running)
