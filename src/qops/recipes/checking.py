"""Whether the releases of a recipe's range take its options and variables."""

from collections.abc import Sequence

from qops.data import engines
from qops.flags import Command, Remark, check
from qops.flags.command import Assignment
from qops.flags.shell import Word
from qops.recipes.recipe import Recipe


def covered(recipe: Recipe) -> tuple[str, ...]:
    """Return the releases of its range that were read, oldest first; none where nothing can be checked."""
    return recipe.engine.versions.of(engines.load(recipe.engine.name).versions)


def command(recipe: Recipe, arguments: Sequence[str] = ()) -> Command:
    """Return the command that serves a recipe; `arguments` go after its own."""
    model = [recipe.model.repository] if recipe.engine.name == "vllm" else ["--model-path", recipe.model.repository]
    words = [*model, *recipe.arguments, *arguments]
    variables = tuple(Assignment(name, value) for name, value in recipe.environment.items())
    name = f"{recipe.engine.name} serve"
    return Command(recipe.engine.name, name, tuple(Word(one) for one in words), variables)


def remarks(recipe: Recipe, version: str, arguments: Sequence[str] = ()) -> list[Remark]:
    """Return what the checker has to say of a recipe for one release."""
    return check(engines.load(recipe.engine.name), version, command(recipe, arguments))
