"""SRV062: the changed copy of a model that is to be served is not what the inventory says."""

from collections.abc import Iterator

from qops.derive import models
from qops.evidence.model import Models
from qops.rule import Confidence, Fix, Found, RuledOut, rule


@rule(
    "SRV062",
    "model-overlay-outdated",
    explains=("engine-model-not-found", "nvfp4-ignore-list-garbage", "nvfp4-ignore-list-shape-mismatch"),
    fix=(
        Fix(
            "make the overlay anew from the model and the inventory's changes",
            commands=("ansible-playbook site.yml --tags model_store --limit HOST",),
            variable="model_store_models",
            tag="model_store",
        ),
    ),
)
def model_overlay_outdated(stored: Models) -> Iterator[Found | RuledOut]:
    """The changed copy of a model that is to be served is not what the inventory says."""
    for model in stored.models:
        overlay = model.overlay
        if overlay and (why := models.outdated(overlay, overlay.wanted)):
            yield Found(overlay.folder, f"{overlay.folder}: {why}", (overlay.quote,), Confidence.CERTAIN)
