"""CUD062: an image that is to be run brings a libcuda that does not fit the host's driver: 803 where it is found."""

from collections.abc import Iterator

from qops.data.drivers import release
from qops.derive.candidate import found_first
from qops.derive.cuda_compat import host_driver
from qops.evidence.gpu import DriverModule, Gpus
from qops.evidence.image import Candidate
from qops.rule import Confidence, Fix, Found, Role, RuledOut, Severity, rule


@rule(
    "CUD062",
    "image-brings-other-libcuda",
    explains=("cuda-compat-lib-shadows-driver", "driver-library-version-mismatch"),
    fix=(
        Fix(
            "hide the image's own libcuda when it is run: mount an empty folder over its compat folder",
            commands=("docker run --mount type=tmpfs,destination=/usr/local/cuda/compat IMAGE",),
        ),
        Fix("take an image without driver packages in it, or one whose compat libcuda is newer than the driver"),
    ),
)
def image_brings_other_libcuda(
    candidate: Candidate, gpus: Gpus | None, module: DriverModule | None
) -> Iterator[Found | RuledOut]:
    """An image that is to be run brings a libcuda that does not fit the host's driver: 803 when it is found first."""
    driver = host_driver(module, gpus)
    host = release(driver)
    if not host:
        return
    subject = f"image {candidate.name}"
    for path, version in candidate.look.drivers.items():
        if release(version) != host:
            yield Found(
                subject,
                f"{path} is of driver {version}, and the host has {driver}: it belongs to a driver, is not to be in an "
                "image, and CUDA answers 803 where the host's own is not put before it",
                (candidate.quote,),
                Confidence.LIKELY,
            )
    for one in candidate.look.compat:
        if not () < release(one.version) < host:
            continue
        first = found_first(candidate, one.path)
        told = (
            "the image tells its loader of that folder, so CUDA answers 803"
            if first
            else "CUDA answers 803 where it is found first: by LD_LIBRARY_PATH, or by how the GPUs are given to it"
        )
        yield Found(
            subject,
            f"its compat libcuda {one.version} ({one.path}) is older than the driver {driver}: {told}",
            (candidate.quote,),
            Confidence.LIKELY if first else Confidence.POSSIBLE,
            severity=None if first else Severity.WARNING,
            role=None if first else Role.CONTRIBUTING,
        )
