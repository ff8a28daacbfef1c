"""Recipes as text and as JSON."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from qops.recipes.recipe import Recipe
from qops.render.screen import Line


def table(recipes: Iterable[Recipe], refused: Mapping[str, tuple[str, ...]]) -> Iterator[Line]:
    """Yield a line for each recipe; under it why it does not run here, where `refused` says so."""
    rows = [(one, _size(one), f"{one.engine.name} {one.engine.versions}") for one in recipes]
    widths = [max((len(cell) for cell in column), default=0) for column in _columns(rows)]
    for one, size, engine in rows:
        retired = "retired; " if one.retired else ""
        yield [
            (f"{one.name:<{widths[0]}}  ", "bold"),
            (f"{size:<{widths[1]}}  {engine:<{widths[2]}}  {retired}{one.about}", ""),
        ]
        yield from ([("    ! ", "red"), (reason, "")] for reason in refused.get(one.name, ()))


def text(recipe: Recipe, reviews: Mapping[str, Iterable[str]], checks: Iterable[str]) -> Iterator[Line]:
    """Yield everything that a recipe says. `reviews` judges what its source sets by hand, `checks` its flags."""
    yield [(recipe.name, "bold"), (f": {recipe.about}", "")]
    for key, value in _facts(recipe):
        yield [(f"  {key:<10}", "dim"), (value, "")]
    yield [("  flags", "dim")]
    for flag in recipe.flags:
        yield [("    ", ""), (" ".join(flag.words), "")]
    if recipe.environment:
        yield [("  variables", "dim")]
        yield from ([("    ", ""), (f"{name}={value}", "")] for name, value in recipe.environment.items())
    yield [("  flags are taken by", "dim")]
    yield from ([("    ", ""), (line, "")] for line in checks)
    for title, lines in reviews.items():
        yield [(f"  {title}", "dim")]
        yield from ([("    ", ""), (line, "")] for line in lines)
    for title, lines in _lists(recipe):
        yield [(f"  {title}", "dim")]
        yield from ([("    ", ""), (line, "")] for line in lines)


def document(recipes: Iterable[Recipe], refused: Mapping[str, tuple[str, ...]] | None = None) -> str:
    """Return recipes as one JSON document; `refused` says of each why it does not run on this host."""
    made = []
    for one in recipes:
        row = plain(one)
        if refused is not None:
            row["refused"] = list(refused.get(one.name, ()))
        made.append(row)
    return json.dumps({"schema": 1, "recipes": made}, indent=2) + "\n"


def plain(recipe: Recipe) -> dict[str, Any]:
    """Return a recipe as plain data, in the form of its file."""
    made: dict[str, Any] = msgspec.to_builtins(recipe)
    hardware = made["hardware"]
    made["hardware"] = {"class": hardware.pop("hardware_class"), **hardware}
    made["engine"]["versions"] = str(recipe.engine.versions)
    made["flags"] = [list(one.words) for one in recipe.flags]
    return made


def _columns(rows: Iterable[tuple[Recipe, str, str]]) -> tuple[tuple[str, ...], ...]:
    return tuple(zip(*((one.name, size, engine) for one, size, engine in rows), strict=True)) or ((), (), ())


def _size(recipe: Recipe) -> str:
    return f"{recipe.hardware.gpus} × {recipe.hardware.hardware_class}"


def _facts(recipe: Recipe) -> Iterator[tuple[str, str]]:
    model = recipe.model
    yield "from", recipe.place
    if recipe.retired:
        yield "retired", recipe.retired
    because = f": {model.because}" if model.because else ""
    yield "model", f"{model.repository} at {model.revision or 'no revision'}{because}"
    for overlay in model.overlays:
        yield "overlay", str(overlay.get("because", "files of the checkpoint are changed"))
    yield "engine", f"{recipe.engine.name} {recipe.engine.versions}"
    yield "image", f"{recipe.image.name}: {recipe.image.because}"
    yield "hardware", f"{_size(recipe)}, {recipe.hardware.memory_gib} GiB each"
    yield "serves", f"{recipe.served_name} on port {recipe.port}"
    if recipe.chat_template:
        yield "template", f"{recipe.chat_template.file or 'none yet'}: {recipe.chat_template.because}"


def _lists(recipe: Recipe) -> Iterator[tuple[str, list[str]]]:
    if recipe.dropped:
        yield (
            "not as the source has it",
            [
                f"{one.what}{f' → {one.instead}' if one.instead else ' left out'}: {one.because}"
                for one in recipe.dropped
            ],
        )
    if recipe.warnings:
        yield "warnings", list(recipe.warnings)
    if recipe.figures:
        yield "published figures", [f"{one.what}: {one.value} ({one.source})" for one in recipe.figures]
