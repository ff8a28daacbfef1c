"""Which libcuda is at work, and whether it fits the kernel module."""

from qops.data.drivers import release
from qops.data.messages import cuda
from qops.evidence.gpu import DriverModule, Gpus
from qops.evidence.message import Hit, Logs
from qops.evidence.process import CudaLibraries, CudaLibrary, CudaResults
from qops.evidence.text import Quote


def printed(results: CudaResults | None, code: int) -> tuple[Quote, ...]:
    """Return where a program printed the CUDA result `code` as its only answer."""
    return tuple(r.quote for r in results.results if r.code == code) if results else ()


def host_driver(module: DriverModule | None, gpus: Gpus | None) -> str:
    """Return the version of the kernel module, or of the driver that nvidia-smi names; "" when neither was seen."""
    return module.version if module and module.version else gpus.driver if gpus else ""


def module_differs(logs: Logs, gpus: Gpus | None) -> tuple[Hit, ...]:
    """Return where TensorFlow or JAX says that libcuda and the kernel module differ, unless libcuda is not the host's.

    Where nvidia-smi answers, the host's own libraries fit the module; a compat folder explains it as well.
    """
    if (gpus and gpus.driver) or logs.find(cuda.COMPAT_PATH):
        return ()
    return logs.find(cuda.DSO_MISMATCH)


def stale_compat(libraries: CudaLibraries | None, driver: str) -> CudaLibrary | None:
    """Return a compat libcuda that is older than the host's driver: with it, CUDA refuses with 803."""
    host = release(driver)
    if libraries is None or not host:
        return None
    return next((x for x in libraries.compat if x.version and () < release(x.version) < host), None)


def newer_compat(libraries: CudaLibraries | None, driver: str) -> CudaLibrary | None:
    """Return a compat libcuda that is newer than the host's driver, as forward compatibility wants it."""
    host = release(driver)
    if libraries is None or not host:
        return None
    return next((x for x in libraries.compat if x.version and release(x.version) > host), None)


def stub(libraries: CudaLibraries | None) -> CudaLibrary | None:
    """Return a link-time stub of libcuda that lies on the host."""
    return next((x for x in libraries.libraries if x.stub), None) if libraries else None
