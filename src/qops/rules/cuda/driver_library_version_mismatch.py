"""CUD005: the kernel module and the driver's libraries are of different versions."""

from collections.abc import Iterator

from qops.data.messages import kernel, system
from qops.derive.cuda_compat import module_differs
from qops.evidence.gpu import DriverModule, Gpus
from qops.evidence.message import Logs, quotes
from qops.evidence.process import CudaLibraries
from qops.rule import Confidence, Fix, Found, rule


@rule(
    "CUD005",
    "driver-library-version-mismatch",
    explains=(
        "nvml-failed",
        "cuda-error",
        "no-visible-gpu",
        "cuda-compat-lib-shadows-driver",
        "driver-too-old-for-image",
    ),
    fix=(
        Fix(
            "reboot, so that the module of the installed version is loaded; then hold the driver packages",
            commands=("cat /proc/driver/nvidia/version", "apt-mark showhold | grep nvidia"),
            needs_reboot=True,
        ),
        Fix(
            "stop every process that uses the GPUs and reload the modules",
            kind="workaround",
            risk="ends every job on this host's GPUs",
        ),
    ),
)
def driver_library_version_mismatch(
    logs: Logs, module: DriverModule | None, libraries: CudaLibraries | None, gpus: Gpus | None
) -> Iterator[Found]:
    """The kernel module and the driver's libraries are of different versions."""
    told = module_differs(logs, gpus)
    hits = (*logs.find(system.NVML_MISMATCH, kernel.API_MISMATCH), *told)
    if not hits:
        return
    said = logs.first(system.NVML_VERSION)
    library = said.groups["version"] if said else told[0].groups["library"] if told else ""
    if not library and libraries and module:
        library = next((x.version for x in libraries.driver if x.version != module.version), "")
    upgrade = logs.find(system.DRIVER_UPGRADED)
    yield Found(
        subject="host",
        message="kernel module and driver libraries differ"
        + (f": module {module.version}" if module else "")
        + (f"{',' if module else ':'} library {library}" if library else "")
        + (", after a package upgrade" if upgrade else ""),
        evidence=(
            *quotes(hits, 2),
            *((module.quote,) if module else ()),
            *((said.quote,) if said else ()),
            *quotes(upgrade, 2),
        ),
        confidence=Confidence.CERTAIN,
    )
