"""The version of the kernel module that is loaded."""

import re
from collections.abc import Sequence

from qops.evidence.gpu import DriverModule
from qops.evidence.text import Text
from qops.pattern import lazy
from qops.probes.base import Probe, Read

# /proc/driver/nvidia/version, and the kernel's log when the module loads. The closed module prints
# "NVIDIA UNIX x86_64 Kernel Module  470.63.01", the open one "NVIDIA UNIX Open Kernel Module for x86_64  580.95.05".
_BANNER = lazy(
    r"(?:NVRM version:|NVRM: loading) +NVIDIA UNIX (Open )?(?:\S{1,20} )?Kernel Module(?: for \S{1,20})? +"
    r"([0-9]{2,4}(?:\.[0-9]{1,4}){1,3})",
    re.ASCII,
)
# "NVRM: API mismatch: the client has the version …, but this kernel module has the version …", on one line or two.
_MISMATCH = lazy(r"this kernel module has the version ([0-9]{2,4}(?:\.[0-9]{1,4}){1,3})", re.ASCII)
_FILE = "/sys/module/nvidia/version"
_BARE = lazy(r"\s*([0-9]{2,4}(?:\.[0-9]{1,4}){1,3})\s*", re.ASCII)


def parse(texts: Sequence[Text]) -> DriverModule | None:
    """Return the loaded module; the driver's own file before the kernel's log, the latest load before earlier ones."""
    logged: DriverModule | None = None
    bare: DriverModule | None = None
    for text in texts:
        expected = text.source.endswith(_FILE) or "sys-module-nvidia-version" in text.source
        for index, line in enumerate(text.lines):
            if _FILE in line:
                expected = True
                line = line.partition(_FILE)[2].lstrip(":")
            found = _BANNER.search(line) if "NVRM" in line else None
            if found:
                module = DriverModule(found[2], bool(found[1]), text.quote(index))
                if "version:" in found[0]:
                    return module
                logged = module
                continue
            mismatch = _MISMATCH.search(line)
            if mismatch and logged is None:
                logged = DriverModule(mismatch[1], None, text.quote(index))
            number = _BARE.fullmatch(line) if expected else None
            if number and bare is None:
                bare, expected = DriverModule(number[1], None, text.quote(index)), False
    if logged is not None and bare is not None and logged.version == bare.version:
        return logged
    return bare or logged


PROBE = Probe(
    name="driver_module",
    makes=DriverModule,
    parse=parse,
    recognise=lambda text: (
        any("NVRM" in line or _FILE in line or _MISMATCH.search(line) for line in text.lines)
        or text.source.endswith(_FILE)
    ),
    asks=(
        Read("/proc/driver/nvidia/version", "the version of the loaded kernel module, and whether it is the open one"),
    ),
    literals=("NVRM version:", "NVRM: loading", "this kernel module has the version"),
)
