"""A model as the probe sees it, whole unless a test says otherwise."""

from typing import Any

from qops.evidence.model import Models, Overlay, StoredModel
from qops.evidence.text import Quote

FOLDER = "/srv/models/acme--whale/" + "c" * 40
QUOTE = Quote("models", 2, f"== model {FOLDER}")


def stored(**more: Any) -> Models:
    """Return the one model of a host."""
    whole: dict[str, Any] = {"repo": "acme/whale", "revision": "c" * 40, "files": 3, "size": 9_000, "proved": True}
    return Models((StoredModel(FOLDER, QUOTE, **{**whole, **more}),), QUOTE)


def overlay(**more: Any) -> Overlay:
    """Return an overlay that is as it should be."""
    return Overlay(f"{FOLDER}--served", QUOTE, **{"wanted": "d1", "definition": "d1", **more})
