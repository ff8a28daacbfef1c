"""A host's images as the probe sees them: one that is wanted and there, unless a test says otherwise."""

from typing import Any

from qops.evidence.image import Image, Images, KeptImage, Look, WantedImage
from qops.evidence.text import Quote

NAME = "acme/engine:1"
DIGEST, LOCAL, OTHER = (f"sha256:{c * 64}" for c in "dab")
QUOTE = Quote("images", 3, f"wanted engine {NAME} {DIGEST} -")


def image(**more: Any) -> Image:
    """Return the image that is there."""
    whole: dict[str, Any] = {"digests": (f"mirror.example/acme/engine@{DIGEST}",), "cuda": "13.0.1", "size": 9 * 10**9}
    return Image(LOCAL, QUOTE, **{**whole, **more})


def images(*there: Image, look: Look | None = None, **more: Any) -> Images:
    """Return all of a host's images; those that are there were looked into."""
    whole: dict[str, Any] = {
        "engine": "docker",
        "images": there,
        "wanted": (WantedImage("engine", NAME, QUOTE, DIGEST),),
        "kept": {"engine": (KeptImage(LOCAL, DIGEST),)},
        "looked": {one.id: look or Look() for one in there},
    }
    return Images(**{**whole, **more})
