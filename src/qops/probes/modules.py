"""Loaded kernel modules, and the kernels for which an NVIDIA module lies on disk."""

import re
from collections.abc import Sequence

from qops.evidence.kernel import Modules
from qops.evidence.text import Quote, Text
from qops.pattern import lazy
from qops.probes.base import Command, Probe, Read

# The marker is printed only where the running kernel has a module folder: a container without one has not looked.
SCRIPT = """[ -d /lib/modules ] || exit 0
for d in /lib/modules/*/modules.dep; do [ -e "$d" ] && echo '== nvidia modules on disk' && break; done
find /lib/modules/ -name 'nvidia.ko*' 2>/dev/null
dkms status 2>/dev/null | grep -i nvidia
true
"""

_MARKER = "== nvidia modules on disk"
_PROC = lazy(r"\s*(\w{1,64}) [0-9]{1,12} (?:-|[0-9]{1,6}) \S+ (?:Live|Loading|Unloading) 0x")  # /proc/modules
_LSMOD_HEADER = lazy(r"\s*Module\s+Size\s+Used by")
_LSMOD = lazy(r"\s*(\w{1,64})\s+[0-9]{1,12}\s+-?[0-9]{1,6}(?:\s+[\w,\-\[\]]+)?\s*$")
_GPU_MODULE = lazy(r"nvidia|nouveau|nova_core|gdrdrv|nv_peer_mem|vfio|amdgpu|i915|xe$", re.IGNORECASE)
_ON_DISK = lazy(r"/lib/modules/([^/\s]{1,120})/(?:[^/\s]{1,120}/){0,8}nvidia(?:-current)?(?:[-_]uvm)?\.ko\b")
# `nvidia/580.95.05, 6.8.0-45-generic, x86_64: installed`; before dkms 3 `nvidia, 550.54, 5.15…`.
_DKMS = lazy(r"\bnvidia[\w-]{0,40}(?:/|, )[\w.\-]{1,40}, ([\w.+\-]{1,80}), \w{1,20}: installed\b")


def recognise(text: Text) -> bool:
    """Return whether `text` lists kernel modules, loaded or on disk."""
    return any(
        _MARKER in line
        or _LSMOD_HEADER.match(line)
        or _PROC.match(line)
        or ("nvidia" in line and (_ON_DISK.search(line) or _DKMS.search(line)))
        or (_GPU_MODULE.match(line.lstrip()) and _LSMOD.match(line))
        for line in text.lines
    )


def parse(texts: Sequence[Text]) -> Modules | None:
    """Return what is loaded and for which kernel releases an NVIDIA module is there."""
    loaded: dict[str, None] = {}
    releases: dict[str, None] | None = None
    quote: Quote | None = None
    for text in texts:
        table = False
        for index, line in enumerate(text.lines):
            if _MARKER in line:
                releases = releases or {}
                quote = quote or text.quote(index)
                continue
            if _LSMOD_HEADER.match(line):
                table = True
                quote = quote or text.quote(index)
                continue
            match = _PROC.match(line)
            if match is None:
                row = _LSMOD.match(line)
                match = row if row and (table or _GPU_MODULE.match(row[1])) else None
                table = table and row is not None
            if match:
                loaded[match[1]] = None
            else:
                match = (_ON_DISK.search(line) or _DKMS.search(line)) if "nvidia" in line else None
                if match is None:
                    continue
                releases = releases or {}
                releases[match[1]] = None
            quote = quote or text.quote(index)
    if quote is None:
        return None
    return Modules(tuple(loaded), None if releases is None else tuple(releases), quote)


PROBE = Probe(
    name="modules",
    makes=Modules,
    parse=parse,
    recognise=recognise,
    asks=(
        Read("/proc/modules", "which kernel modules are loaded"),
        Command(("sh", "-c", SCRIPT), "for which kernels an NVIDIA module is installed", name="nvidia modules"),
    ),
)
