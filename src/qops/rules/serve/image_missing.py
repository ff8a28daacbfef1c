"""SRV063: an image that is to be served is not on the host."""

from collections.abc import Iterator

from qops.derive.image import held
from qops.evidence.image import Images
from qops.rule import Confidence, Fix, Found, RuledOut, rule


@rule(
    "SRV063",
    "image-missing",
    fix=(
        Fix(
            "pull it, or load it from an archive",
            commands=("ansible-playbook site.yml --tags inference_image --limit HOST",),
            variable="inference_image_images",
            tag="inference_image",
        ),
    ),
)
def image_missing(images: Images) -> Iterator[Found | RuledOut]:
    """An image that is to be served is not on the host."""
    for wanted in images.wanted:
        if held(images, wanted.name, wanted.image, wanted.digest, wanted.id) is None:
            where = f": {images.error}" if images.error else "" if images.engine else ": no container engine is"
            yield Found(
                f"image {wanted.name}",
                f"{wanted.image} ({wanted.digest or wanted.id or 'by its tag'}) is not here{where}",
                (wanted.quote,),
                Confidence.CERTAIN,
            )
