"""CUD064: an image that is to be run has only PTX for this GPU, of a newer CUDA than the driver compiles: 222."""

from collections.abc import Iterator

from qops.derive.candidate import PACKAGES, capabilities, newer_than, only_late
from qops.derive.cuda_compat import host_driver
from qops.evidence.gpu import DriverModule, Gpus
from qops.evidence.image import Candidate
from qops.rule import Confidence, Fix, Found, RuledOut, rule


@rule(
    "CUD064",
    "image-ptx-newer-than-driver",
    explains=("driver-too-old-for-image", "cuda-error"),
    fix=(
        Fix("install the driver that came with the image's CUDA, or a later one", needs_reboot=True),
        Fix("take an image with machine code for this GPU", commands=("qops recipes list",)),
    ),
)
def image_ptx_newer_than_driver(
    candidate: Candidate, gpus: Gpus, module: DriverModule | None
) -> Iterator[Found | RuledOut]:
    """An image that is to be run has only PTX for this GPU, of a newer CUDA than the driver compiles: 222."""
    driver = host_driver(module, gpus)
    needed = newer_than(candidate.cuda, driver)
    for major, minor in capabilities(gpus) if needed else ():
        late = [name for name in PACKAGES if only_late(candidate, name, (major, minor))]
        if late:
            yield Found(
                f"image {candidate.name}",
                f"{' and '.join(late)} in it have only PTX for compute capability {major}.{minor}, made by CUDA "
                f"{candidate.cuda}; driver {driver} compiles that of its own CUDA at most ({needed} came with it): "
                "CUDA answers 222",
                (candidate.quote,),
                Confidence.LIKELY,
            )
