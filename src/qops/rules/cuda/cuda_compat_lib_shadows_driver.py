"""CUD002: the image's compat libcuda is found before a host driver that it does not fit."""

from collections.abc import Iterator

from qops.data.messages import cuda, kernel, system
from qops.derive.cuda_compat import host_driver, module_differs, newer_compat, printed, stale_compat
from qops.evidence.gpu import DriverModule, Gpus
from qops.evidence.message import Logs, quotes
from qops.evidence.process import CudaLibraries, CudaResults
from qops.rule import Confidence, Fix, Found, Role, RuledOut, Severity, rule

MISMATCH = 803  # cudaErrorSystemDriverMismatch, driver_types.h


@rule(
    "CUD002",
    "cuda-compat-lib-shadows-driver",
    explains=("cuda-error", "no-visible-gpu"),
    fix=(
        Fix(
            "put the host's driver library before the image's compat folder, or hide that folder",
            commands=("ldconfig -p | grep libcuda.so", "grep -l compat /etc/ld.so.conf.d/*"),
        ),
    ),
)
def cuda_compat_lib_shadows_driver(
    logs: Logs,
    results: CudaResults | None,
    libraries: CudaLibraries | None,
    module: DriverModule | None,
    gpus: Gpus | None,
) -> Iterator[Found | RuledOut]:
    """The image's compat libcuda is found before a host driver that is newer or that it does not support."""
    seen = (*quotes(logs.find(cuda.DRIVER_MISMATCH), 2), *printed(results, MISMATCH))
    if not seen:
        yield from _waiting(libraries, host_driver(module, gpus))
        return
    differ = (*logs.find(system.NVML_MISMATCH, kernel.API_MISMATCH), *module_differs(logs, gpus))
    if differ:
        yield RuledOut("the driver's own library and the kernel module differ, which gives 803 too", quotes(differ, 1))
        return
    driver = host_driver(module, gpus)
    stale, newer = stale_compat(libraries, driver), newer_compat(libraries, driver)
    if stale:
        yield Found(
            subject="container",
            message=f"CUDA answers 803: the compat libcuda {stale.version} is older than the kernel module {driver}",
            evidence=(*seen, stale.quote),
            confidence=Confidence.CERTAIN,
        )
    elif newer:
        yield RuledOut(f"the compat libcuda {newer.version} is newer than the host's driver {driver}", (newer.quote,))
    else:
        paths = logs.find(cuda.COMPAT_PATH)
        yield Found(
            subject="container",
            message="CUDA answers 803: its libcuda does not fit the kernel module"
            + (", and a compat folder is on the loader's path" if paths else ""),
            evidence=(*seen, *quotes(paths, 2)),
            confidence=Confidence.LIKELY if paths else Confidence.POSSIBLE,
        )


def _waiting(libraries: CudaLibraries | None, driver: str) -> Iterator[Found]:
    """Yield what the next CUDA program will meet: the loader's first libcuda is a compat one, and older."""
    stale = stale_compat(libraries, driver)
    first = libraries.picked[0] if libraries and libraries.picked else ""
    if stale and first and _folder(first) == _folder(stale.path):
        yield Found(
            subject="loader",
            message=f"takes libcuda {stale.version} of {_folder(first)}, which is older than the kernel module "
            f"{driver}: CUDA programs that start here get error 803",
            evidence=(stale.quote,),
            confidence=Confidence.LIKELY,
            severity=Severity.WARNING,
            role=Role.CONTRIBUTING,
        )


def _folder(path: str) -> str:
    return path.rpartition("/")[0]
