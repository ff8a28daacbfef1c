"""CUD003: forward compatibility was tried on a GPU that has none."""

from collections.abc import Iterator

from qops.data.messages import cuda
from qops.derive.cuda_compat import host_driver, newer_compat, printed
from qops.evidence.gpu import DriverModule, Gpus
from qops.evidence.message import Logs, quotes
from qops.evidence.process import CudaLibraries, CudaResults
from qops.rule import Confidence, Fix, Found, rule

UNSUPPORTED, MISMATCH = 804, 803  # cudaErrorCompatNotSupportedOnDevice, cudaErrorSystemDriverMismatch, driver_types.h


@rule(
    "CUD003",
    "forward-compat-unsupported-gpu",
    explains=("cuda-error", "no-visible-gpu", "driver-too-old-for-image"),
    fix=(
        Fix("update the host's driver to one that runs the image's CUDA", needs_reboot=True),
        Fix("use an image of an older CUDA, or hide its compat folder", kind="workaround"),
    ),
)
def forward_compat_unsupported_gpu(
    logs: Logs,
    results: CudaResults | None,
    libraries: CudaLibraries | None,
    module: DriverModule | None,
    gpus: Gpus | None,
) -> Iterator[Found]:
    """Forward compatibility was tried on a GPU that has none."""
    name = next((g.name for g in gpus.gpus if g.name), "GPU") if gpus else "GPU"
    said = (*quotes(logs.find(cuda.COMPAT_UNSUPPORTED), 3), *printed(results, UNSUPPORTED))
    if said:
        yield Found(
            subject=name,
            message="CUDA answers 804: a compat libcuda newer than the driver is in use; this GPU does not allow it",
            evidence=said,
            confidence=Confidence.CERTAIN,
        )
        return
    refused = (*quotes(logs.find(cuda.DRIVER_MISMATCH), 2), *printed(results, MISMATCH))
    driver = host_driver(module, gpus)
    newer = newer_compat(libraries, driver)
    if refused and newer:
        yield Found(
            subject=name,
            message=f"CUDA answers 803 with the compat libcuda {newer.version} over the older driver {driver}",
            evidence=(*refused, newer.quote),
        )
