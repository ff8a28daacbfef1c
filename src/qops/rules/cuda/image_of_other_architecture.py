"""CUD065: an image that is to be run is made for another processor."""

from collections.abc import Iterator

from qops.derive.candidate import MACHINES
from qops.evidence.image import Candidate
from qops.evidence.kernel import System
from qops.rule import Confidence, Fix, Found, RuledOut, rule


@rule(
    "CUD065",
    "image-of-other-architecture",
    fix=(Fix("take the image of this architecture: the same tag often has both", commands=("docker pull NAME:TAG",)),),
)
def image_of_other_architecture(candidate: Candidate, system: System) -> Iterator[Found | RuledOut]:
    """An image that is to be run is made for another processor."""
    wanted = MACHINES.get(candidate.architecture)
    if wanted is None or not system.machine:
        return
    if wanted != system.machine:
        yield Found(
            f"image {candidate.name}",
            f"it is made for {candidate.architecture}, and this host is {system.machine}: `exec format error`",
            (candidate.quote,),
            Confidence.CERTAIN,
        )
