"""CUD063: an image that is to be run lets programs find a link-time stub of libcuda: CUDA would answer 34."""

from collections.abc import Iterator

from qops.derive.candidate import found_first
from qops.evidence.image import Candidate
from qops.rule import Confidence, Fix, Found, RuledOut, rule


@rule(
    "CUD063",
    "image-stub-on-loader-path",
    explains=("cuda-stub-library",),
    fix=(
        Fix("take the stubs folder out of LD_LIBRARY_PATH and of /etc/ld.so.conf.d of the image, and build it again"),
        Fix("start it with LD_LIBRARY_PATH set to nothing", kind="workaround"),
    ),
)
def image_stub_on_loader_path(candidate: Candidate) -> Iterator[Found | RuledOut]:
    """An image that is to be run lets programs find a link-time stub of libcuda: CUDA would answer 34."""
    for path in candidate.look.stubs:
        if found_first(candidate, path):
            yield Found(
                f"image {candidate.name}",
                f"{path} is a stub for linking, and the image tells its loader of that folder: CUDA answers 34",
                (candidate.quote,),
                Confidence.LIKELY,
            )
        else:
            yield RuledOut(f"{path} is there, and no path of the loader leads to it", (candidate.quote,))
