"""Whether a specification for CDI still describes the GPUs and the driver of its host."""

from qops.evidence.cdi import Cdi, CdiSpec
from qops.evidence.text import Quote
from qops.pattern import lazy

_MODULE = lazy(r"/dev/(nvidia-uvm|nvidia-caps(?=/)|nvidia-nvswitch|nvidia)(?:-tools|ctl|-modeset|\d+|/|$)")
# What the kernel calls the devices /dev/nvidia0 and /dev/nvidiactl: "nvidia-frontend" before driver 550
# (NVIDIA/nvidia-container-toolkit#324).
_NAMES = {"nvidia": ("nvidia", "nvidia-frontend", "nvidiactl")}


def stale(spec: CdiSpec, cdi: Cdi, driver: str) -> tuple[tuple[str, Quote], ...]:
    """Return what is no longer so in `spec`, each with its line; `driver` is the loaded one's version, or "".

    nvidia-uvm gets its number when it is loaded, so it may change with the driver and with a boot. Then nvidia-smi
    works in the container and cuInit fails (NVIDIA/nvidia-container-toolkit#1934).
    """
    found = []
    for node in spec.nodes:
        live = major(node.path, cdi)
        if node.major is not None and live is not None and node.major != live:
            found.append((f"it gives {node.path} the number {node.major}, and the kernel has {live}", node.quote))
    if driver and spec.driver and spec.driver != driver and spec.driver_quote:
        said = f"it mounts libcuda of driver {spec.driver}, and {driver} is loaded"
        found.append((said, spec.driver_quote))
    return tuple(found)


def major(path: str, cdi: Cdi) -> int | None:
    """Return the major number that a device file has on the host now; None where nobody said."""
    if path in cdi.nodes:
        return cdi.nodes[path]
    match = _MODULE.match(path)
    names = _NAMES.get(match[1], (match[1],)) if match else ()
    return next((cdi.majors[name] for name in names if name in cdi.majors), None)
