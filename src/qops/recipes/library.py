"""All recipes: those that qops brings, and over them those of the user's folders."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from qops.errors import UsageError
from qops.flags.document import Item, parse
from qops.recipes.merging import merged
from qops.recipes.reading import recipe
from qops.recipes.recipe import Recipe

BUILT_IN = Path(__file__).parent.parent / "data" / "recipes"
_SUFFIXES = (".yaml", ".yml")
_MOST = 200_000  # characters of a file: a recipe has some thousands


def load(folders: Iterable[Path] = ()) -> dict[str, Recipe]:
    """Return the recipes by name. A later folder's recipe takes the place of an earlier one of its name.

    `extends: NAME` starts from a recipe of any folder; from its own name, it starts from the one whose place it
    takes. UsageError, with file and line, for what cannot be.
    """
    layers = [_documents(folder) for folder in (BUILT_IN, *folders)]
    found: dict[str, Recipe] = {}
    for depth, layer in enumerate(layers):
        for name, item in layer.items():
            found[name] = recipe(_whole(item, name, layers, depth, ()))
    return dict(sorted(found.items()))


def beside(inventory: str) -> tuple[Path, ...]:
    """Return the folder `recipes` beside an inventory, if it is there."""
    path = Path(inventory)
    folder = (path if path.is_dir() else path.parent) / "recipes"
    return (folder,) if folder.is_dir() else ()


def one(recipes: Mapping[str, Recipe], name: str) -> Recipe:
    """Return a recipe by its name. UsageError, with the nearest names, where there is none."""
    if name not in recipes:
        import difflib

        near = difflib.get_close_matches(name, recipes, 3, 0.5)
        raise UsageError(
            f"no recipe is called {name!r}", f"near it: {', '.join(near)}" if near else "qops recipes list"
        )
    return recipes[name]


def _documents(folder: Path) -> dict[str, Item]:
    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder of recipes")
    found: dict[str, Item] = {}
    for path in sorted(folder.iterdir()):
        if path.suffix not in _SUFFIXES or path.name.startswith("."):
            continue
        item = _read(path)
        name = item.mapping["name"].text if "name" in item.mapping else ""
        if not name:
            item.fail("name is missing")
        if name in found:
            item.mapping["name"].fail(f"{name} is in {found[name].file} too", "give each recipe a name of its own")
        found[name] = item
    return found


def _whole(item: Item, name: str, layers: list[dict[str, Item]], depth: int, path: tuple[Item, ...]) -> Item:
    """Return a document with what it extends below it. `depth` is the layer in which it stands."""
    extends = item.mapping.get("extends")
    if extends is None:
        return item
    if item in path:
        extends.fail(f"{name} extends itself in the end", "break the circle")
    last = depth - 1 if extends.text == name else len(layers) - 1
    for below in range(last, -1, -1):
        if extends.text in layers[below]:
            base = _whole(layers[below][extends.text], extends.text, layers, below, (*path, item))
            return merged(base, item)
    return extends.fail(f"no recipe is called {extends.text!r}", "qops recipes list")


def _read(path: Path) -> Item:
    """Return the document of a file. UsageError, with the line, for what is no YAML or no mapping."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
    if len(text) > _MOST:
        raise UsageError(f"{path} is too long for a recipe")
    return parse(text, str(path))
