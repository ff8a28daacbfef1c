"""CUD801: an image that is to be run has code for this GPU, and the driver runs its CUDA."""

from collections.abc import Iterator

from qops.derive.candidate import PACKAGES, capabilities, lacking
from qops.derive.cuda_compat import host_driver
from qops.derive.hardware_class import hardware_class
from qops.derive.image import Runs, verdict
from qops.evidence.gpu import DriverModule, Gpus
from qops.evidence.image import Candidate
from qops.rule import Confidence, Found, Role, RuledOut, Severity, rule


@rule("CUD801", "image-fits", role=Role.INFO, severity=Severity.INFO)
def image_fits(candidate: Candidate, gpus: Gpus, module: DriverModule | None) -> Iterator[Found | RuledOut]:
    """An image that is to be run has code for this GPU, and the driver runs its CUDA."""
    driver = host_driver(module, gpus)
    judged = verdict(candidate.cuda, candidate.look.compat, driver, hardware_class(gpus, None).value)
    wanted = capabilities(gpus)
    known = [name for name in PACKAGES if name in candidate.look.kernels]
    fits = all(not lacking(candidate, name, one) for name in known for one in wanted)
    if judged.runs is Runs.YES and known and wanted and fits:
        numbers = ", ".join(f"{major}.{minor}" for major, minor in wanted)
        yield Found(
            f"image {candidate.name}",
            f"{' and '.join(known)} in it run on compute capability {numbers}, and {judged.because}",
            (candidate.quote,),
            Confidence.CERTAIN,
        )
