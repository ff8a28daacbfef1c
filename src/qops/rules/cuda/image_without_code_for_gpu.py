"""CUD060: an image that is to be run has no code for this GPU: CUDA would answer 209."""

from collections.abc import Iterator

from qops.derive.candidate import PACKAGES, capabilities, lacking, targets
from qops.evidence.gpu import Gpus
from qops.evidence.image import Candidate
from qops.rule import Confidence, Fix, Found, RuledOut, rule


@rule(
    "CUD060",
    "image-without-code-for-gpu",
    explains=("no-kernel-image-for-arch",),
    fix=(
        Fix(
            "take an image whose libraries are built for this GPU",
            commands=("qops recipes list", "qops diagnose cuda --image NAME"),
            variable="inference_image_images",
            tag="inference_image",
        ),
    ),
)
def image_without_code_for_gpu(candidate: Candidate, gpus: Gpus) -> Iterator[Found | RuledOut]:
    """An image that is to be run has no code for this GPU: CUDA would answer 209."""
    others = f"; images for such a GPU: {', '.join(candidate.others[:3])}" if candidate.others else ""
    for major, minor in capabilities(gpus):
        wanted = (major, minor)
        # PyTorch is in every step; an engine may still get along with kernels that it compiles, or with other packages.
        names = [name for name in PACKAGES if lacking(candidate, name, wanted)]
        for name in names[:1]:
            yield Found(
                f"image {candidate.name}",
                f"{name} in it has no code for GPUs of compute capability {major}.{minor}, only "
                f"{targets(candidate, name)}: CUDA answers 209 (no kernel image){others}",
                (candidate.quote,),
                Confidence.CERTAIN if name == "torch" else Confidence.LIKELY,
            )
        known = [name for name in PACKAGES if name in candidate.look.kernels]
        if known and not names:
            yield RuledOut(f"{' and '.join(known)} in it run on compute capability {major}.{minor}", (candidate.quote,))
