"""Finds the commands and variables in a file: a systemd unit or quadlet, a compose file, a `.env`, a shell script."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from qops.flags import compose, shell, systemd
from qops.flags.command import ASSIGNMENT, Assignment, Command, find
from qops.flags.document import Item
from qops.flags.shell import Word

_SECTION = re.compile(r"^\s*\[(Service|Container|Unit|Install)\]\s*$", re.M)
_SPECIFIER = re.compile(r"%([a-zA-Z])")
_WHOLE_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_DEFAULTED = re.compile(r"\$\{\w+:?-([^}]*)\}")


@dataclass(slots=True)
class Source:
    """What a file holds: commands that start an engine, and variables that belong to no command in it."""

    commands: list[Command] = field(default_factory=list)
    variables: list[Assignment] = field(default_factory=list)


def read(text: str, name: str, engine: str = "") -> Source:
    """Return what `text` holds, by what it looks like. `engine` is whose arguments a text without a command are.

    UsageError, with the line, when it looks like a compose file and is no YAML.
    """
    if _SECTION.search(text):
        return _unit(text, engine)
    if re.search(r"^(services|command|environment|entrypoint):", text, re.M):
        return _compose(text, name, engine)
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if lines and all(re.match(r"\s*(?:export\s+)?[A-Za-z_]\w*=", line) for line in lines) and not _starts(text):
        return Source(variables=list(assignments(text)))
    return _script(text, engine)


def _starts(text: str) -> bool:
    return any(find(words) for words in shell.commands(text))


def command(words: Sequence[Word], engine: str = "", image: str = "") -> Command | None:
    """Return the command that starts an engine, or the arguments of `engine` where no command is written."""
    found = find(words, image)
    if found is None and engine and words and words[0].text.startswith("-"):
        return Command(engine, f"{engine} serve", tuple(words), image=image, line=words[0].line)
    return found


def assignments(text: str) -> Iterator[Assignment]:
    """Yield the variables that a file of `NAME=value` lines sets, without their quotes."""
    for number, line in enumerate(text.splitlines(), 1):
        found = re.match(r"\s*(?:export\s+)?([A-Za-z_]\w*)=(.*)", line)
        if found and not line.lstrip().startswith("#"):
            value = found[2].strip()
            quoted = re.match(r"([\"'])(.*?)\1\s*(?:#.*)?$", value)
            yield Assignment(found[1], quoted[2] if quoted else value.split(" #")[0].strip(), number)


def _script(text: str, engine: str) -> Source:
    source = Source()
    exported: list[Assignment] = []
    for words in shell.commands(text):
        plain = words[1:] if words[0].text in ("export", "set") else words
        assigned = [(word, ASSIGNMENT.fullmatch(word.text)) for word in plain]
        if plain and all(match for _, match in assigned):
            exported += [Assignment(match[1], match[2], word.line) for word, match in assigned if match]
            continue
        known = {one.name: one.value for one in exported}
        if found := command(list(_expanded(words, known)), engine):
            outside = [] if found.image else exported
            source.commands.append(replace(found, environment=(*outside, *found.environment)))
    if not source.commands:
        source.variables = exported
    return source


def _expanded(words: Iterable[Word], known: Mapping[str, str]) -> Iterator[Word]:
    """Put in variables that the same file sets; others stay as they are."""
    for word in words:
        whole = _WHOLE_VARIABLE.fullmatch(word.text)
        name = (whole[1] or whole[2]) if whole else ""
        if whole and whole[2] and name in known:
            yield from (Word(one.text, word.line) for one in shell.words(known[name]))
        else:
            yield Word(_WHOLE_VARIABLE.sub(lambda m: known.get(m[1] or m[2], m[0]), word.text), word.line)


def _unit(text: str, engine: str) -> Source:
    source = Source()
    environment: list[Assignment] = []
    starts: list[list[Word]] = []
    image = ""
    for one in systemd.settings(text, ""):
        name = one.name
        words = systemd.words(_SPECIFIER.sub(r"${\1}", one.value.replace("%%", "%")), one.line)
        if name == "Environment":
            matches = [(word, ASSIGNMENT.fullmatch(word.text)) for word in words]
            environment += [Assignment(match[1], match[2], word.line) for word, match in matches if match]
        elif name == "Image":
            image = one.value
        elif name in ("ExecStart", "Exec") and words:
            # systemd's prefixes of a program; what a quadlet executes is arguments for the image.
            first = words[0].text.lstrip("@-:+!|") if name == "ExecStart" else words[0].text
            starts.append([Word(first, words[0].line), *words[1:]])
    known = {one.name: one.value for one in environment}
    for words in starts:
        if found := command(list(_expanded(words, known)), engine, image):
            # The unit's variables reach a container only where `docker run` passes them on.
            outside = [] if found.image and not image else environment
            passed = tuple(
                replace(one, value=known.get(one.name, "")) if one.value == "$" else one for one in found.environment
            )
            source.commands.append(replace(found, environment=(*outside, *passed)))
    if not source.commands:
        source.variables = environment
    return source


def _compose(text: str, name: str, engine: str) -> Source:
    source = Source()
    lines = text.splitlines()
    for service in compose.services(text, name).values():
        parts = compose.mapping(service)
        environment = list(_environment(parts.get("environment")))
        image = _defaults(parts["image"].text) if "image" in parts else ""
        entry, rest = (compose.words(parts.get(key), lines, _defaults) for key in ("entrypoint", "command"))
        found = command([*entry, *rest], engine, "" if entry else image)
        if found:
            source.commands.append(
                replace(
                    found,
                    environment=(*environment, *found.environment),
                    image=image or found.image,
                    line=found.line or service.line,
                )
            )
        else:
            source.variables += environment
    return source


def _environment(item: Item | None) -> Iterator[Assignment]:
    for name, value in compose.mapping(item).items():
        yield Assignment(name, _defaults(value.text), value.line)
    for one in item.items if item else ():
        variable, sign, text = one.text.partition("=")
        yield Assignment(variable, _defaults(text) if sign else "$", one.line)


def _defaults(text: str) -> str:
    """Return `${NAME:-value}` as compose reads it where the variable is not set."""
    return _DEFAULTED.sub(lambda match: match[1], text)
