"""CUD061: the driver does not run the CUDA of an image that is to be run: 35, or 804 with its compat libcuda."""

from collections.abc import Iterator

from qops.derive.cuda_compat import host_driver
from qops.derive.hardware_class import hardware_class
from qops.derive.image import Runs, verdict
from qops.evidence.gpu import DriverModule, Gpus
from qops.evidence.image import Candidate
from qops.rule import Confidence, Fix, Found, RuledOut, rule


@rule(
    "CUD061",
    "image-too-new-for-driver",
    explains=("driver-too-old-for-image", "forward-compat-unsupported-gpu", "cuda-error", "no-visible-gpu"),
    fix=(
        Fix(
            "install a driver branch that runs the image's CUDA",
            commands=("ansible-playbook site.yml --tags nvidia_driver --limit HOST",),
            needs_reboot=True,
            variable="nvidia_driver_version",
            tag="nvidia_driver",
        ),
        Fix("take an image of an older CUDA", kind="workaround", variable="inference_image_images"),
    ),
)
def image_too_new_for_driver(
    candidate: Candidate, gpus: Gpus | None, module: DriverModule | None
) -> Iterator[Found | RuledOut]:
    """The driver does not run the CUDA of an image that is to be run: 35, or 804 with its compat libcuda."""
    driver = host_driver(module, gpus)
    judged = verdict(candidate.cuda, candidate.look.compat, driver, hardware_class(gpus, None).value)
    if judged.runs is Runs.NO:
        number = "" if "804" in judged.because else ": CUDA answers 35 (driver too old)"
        message = f"{judged.because}{number}"
        yield Found(f"image {candidate.name}", message, (candidate.quote,), Confidence.CERTAIN)
    elif judged.runs is Runs.YES:
        yield RuledOut(judged.because, (candidate.quote,))
