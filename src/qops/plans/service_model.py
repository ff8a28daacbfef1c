"""Where the model of a recipe lies on a host: in the store, on its way there, or only on the hub."""

from dataclasses import dataclass

from qops.evidence.model import Models
from qops.recipes.recipe import Recipe


@dataclass(frozen=True, slots=True)
class Place:
    """`path` in the container is the same as on the host, or the repository where nothing keeps the model.

    `mount` is the folder to mount, `weights` the bytes of the checkpoint, None where nobody knows yet.
    """

    path: str
    mount: str = ""
    weights: int | None = None
    notes: tuple[str, ...] = ()


def place(recipe: Recipe, stored: Models | None, root: str) -> Place:
    """Return where the model of `recipe` is; `root` is the model store's."""
    model = recipe.model
    suffix = f"--{model.overlays[0].get('name', 'served')}" if model.overlays else ""
    here = [one for one in (stored.models if stored else ()) if one.repo == model.repository and not one.missing]
    same = [one for one in here if model.revision in (None, one.revision)]
    if len(same) == 1:
        overlay = same[0].overlay
        path = overlay.folder if overlay else same[0].folder
        lacks = "" if overlay or not suffix else "the store has it without the recipe's changes (overlay)"
        weights = model.bytes or same[0].size or None
        notes = [f"model {model.repository}: {lacks}"] if lacks else []
        if model.revision is None:
            notes.append(f"model {model.repository}: to pin, revision: {same[0].revision}")
        return Place(path, path.rpartition("/")[0], weights, tuple(notes))
    if model.revision is not None:
        folder = f"{root}/{model.folder}"
        note = f"model {model.repository} is not on this host yet: the role model_store brings it"
        return Place(f"{folder}/{model.revision}{suffix}", folder, model.bytes, (note,) if stored else ())
    note = f"model {model.repository} has no revision ({model.because}): the engine would fetch whatever is newest"
    lost = ("the model's overlay needs the role model_store, which needs a revision",) if suffix else ()
    return Place(model.repository, "", model.bytes, (note, *lost))
