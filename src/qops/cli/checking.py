"""The work of `qops recipes check`: reads files, checks every command in them, and writes the remarks."""

import itertools
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from qops.cli import output
from qops.data import engines
from qops.errors import FAULT, HEALTHY, UsageError
from qops.flags import Command, Remark, Severity, check, check_variables, shell, sources
from qops.transports.base import clean

if TYPE_CHECKING:
    from qops.recipes import Recipe
    from qops.render.sarif import Result

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.INFO: "dim"}


def run(engine: str, version: str, files: Sequence[str], words: Sequence[str], form: str, path: str | None) -> int:
    """Check and write; return the exit status. Raises UsageError when there is nothing to check."""
    if not files and not words:
        raise UsageError("there is nothing to check", "give a command after `--`, or --file FILE")
    found: list[Remark] = []
    if words:
        found += _checked(_typed(engine, words), version, Path())
    for name in files:
        found += _file(name, engine, version)
    _write(found, form, path)
    return FAULT if any(one.severity is Severity.ERROR for one in found) else HEALTHY


def run_recipes(known: "Mapping[str, Recipe]", names: Sequence[str], version: str, form: str, path: str | None) -> int:
    """Check recipes by their names and write; return the exit status."""
    from qops.cli.showing import remarks
    from qops.recipes import one

    found = [remark for name in names for remark in remarks(one(known, name), version)]
    _write(found, form, path)
    return FAULT if any(remark.severity is Severity.ERROR for remark in found) else HEALTHY


def _typed(engine: str, words: Sequence[str]) -> Command:
    # A whole command in quotes is as good as its words.
    split = shell.words(words[0]) if len(words) == 1 else [shell.Word(one) for one in words]
    split = [shell.Word(clean(one.text)) for one in split]
    command = sources.command(split, engine)
    if command is None:
        raise UsageError("the command starts neither vLLM nor SGLang", "it has no `vllm serve` and no `sglang serve`")
    if engine and command.engine != engine:
        raise UsageError(f"the command starts {command.engine}, and --engine says {engine}")
    return command


def _file(name: str, engine: str, version: str) -> list[Remark]:
    text = _text(name)
    source = sources.read(text, name, engine)
    found: list[Remark] = []
    for command in source.commands:
        found += _checked(command, version, Path(name).parent)
    if not source.commands:
        found += _only_variables(source, name, engine, version)
    return [msgspec.structs.replace(one, source=name) for one in found]


def _only_variables(source: sources.Source, name: str, engine: str, version: str) -> list[Remark]:
    if not source.variables:
        raise UsageError(f"{name} starts neither vLLM nor SGLang", "--engine says whose arguments it holds")
    if not engine:
        raise UsageError(f"{name} holds variables alone", "--engine says who is to read them")
    return check_variables(engines.load(engine), _release(version, ""), source.variables)


def _checked(command: Command, version: str, folder: Path) -> list[Remark]:
    release = _release(version, command.tag)
    return check(engines.load(command.engine), release, command, _configs(command, folder))


def _release(version: str, tag: str) -> str:
    if not version and not tag:
        raise UsageError("which release is not said", "add --version, such as 0.33.0 for vLLM or 0.5.23 for SGLang")
    return version or tag


def _configs(command: Command, folder: Path) -> dict[str, str]:
    """Return the files that `--config` names, where they lie here: an image's own are elsewhere."""
    found: dict[str, str] = {}
    words = [one.text for one in command.arguments]
    for before, name in itertools.pairwise(words):
        path = folder / name
        if before == "--config" and path.is_file():
            found[name] = _text(str(path))
    return found


def _text(name: str) -> str:
    try:
        return clean(sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {name}: {getattr(error, 'strerror', None) or error}") from error


def _result(one: Remark) -> "Result":
    from qops.render.sarif import LEVELS, Result

    message = f"{one.flag}: {one.message}{f'; instead: {one.instead}' if one.instead else ''}"
    file = one.source if one.line and one.source != "-" else ""  # a recipe's remark has no line, and names a release
    if one.source and not file:
        message = f"{one.source}: {message}"
    return Result(one.kind, LEVELS[one.severity], message, file, one.line)


def _write(found: Sequence[Remark], form: str, path: str | None) -> None:
    counts = Counter(one.severity for one in found)
    if form == "sarif":
        from qops.render import sarif

        output.write(sarif.log([_result(one) for one in found]), path)
        return
    if form == "json":
        document = {
            "schema": 1,
            "remarks": found,
            "summary": {severity.value: counts[severity] for severity in Severity},
        }
        output.write(msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n", path)
        return
    lines: list[list[tuple[str, str]]] = []
    for one in found:
        place = f"{one.source}:{one.line}: " if one.line else f"{one.source}: " if one.source else ""
        lines.append([(place, ""), (f"{one.severity}: ", _STYLES[one.severity]), (f"{one.flag}: {one.message}", "")])
        if one.instead:
            lines.append([(f"  instead: {one.instead}", "")])
    words = {Severity.ERROR: "errors", Severity.WARNING: "warnings", Severity.INFO: "notes"}
    said = [f"{counts[severity]} {word[:-1] if counts[severity] == 1 else word}" for severity, word in words.items()]
    lines.append([(", ".join(said) if found else "nothing to remark", "")])
    output.lines(lines, path)
