"""CUD016: an image that is to be served needs a newer driver than the host has."""

from collections.abc import Iterator

from qops.derive.cuda_compat import host_driver
from qops.derive.hardware_class import hardware_class
from qops.derive.image import Runs, held, verdict
from qops.evidence.gpu import DriverModule, Gpus
from qops.evidence.image import Images, Look
from qops.evidence.intent import Intent
from qops.evidence.pcie import PcieTree
from qops.rule import Confidence, Fix, Found, RuledOut, rule


@rule(
    "CUD016",
    "image-needs-newer-driver",
    explains=("driver-too-old-for-image", "cuda-error", "no-visible-gpu"),
    fix=(
        Fix(
            "take an image of a CUDA version that this driver runs",
            commands=("ansible-playbook site.yml --tags inference_image --limit HOST",),
            variable="inference_image_images",
            tag="inference_image",
        ),
        Fix(
            "install a driver branch that runs the image's CUDA",
            commands=("ansible-playbook site.yml --tags nvidia_driver --limit HOST",),
            needs_reboot=True,
        ),
    ),
)
def image_needs_newer_driver(
    images: Images, module: DriverModule | None, gpus: Gpus | None, pcie: PcieTree | None, intent: Intent | None
) -> Iterator[Found | RuledOut]:
    """An image that is to be served needs a newer driver than the host has."""
    driver, hardware = host_driver(module, gpus), hardware_class(gpus, pcie, intent).value
    for wanted in images.wanted:
        image = held(images, wanted.name, wanted.image, wanted.digest, wanted.id)
        if image is None:
            continue
        judged = verdict(image.cuda, images.looked.get(image.id, Look()).compat, driver, hardware)
        if judged.runs is Runs.NO:
            subject = f"image {wanted.name}"
            yield Found(subject, f"{subject}: {judged.because}", (wanted.quote, image.quote), Confidence.CERTAIN)
        elif judged.runs is Runs.YES:
            yield RuledOut(f"image {wanted.name}: {judged.because}", (image.quote,))
