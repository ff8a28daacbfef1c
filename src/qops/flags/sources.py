"""Finds the commands and variables in a file: a systemd unit or quadlet, a compose file, a `.env`, a shell script."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import yaml

from qops.errors import ParseError
from qops.flags import shell
from qops.flags.command import ASSIGNMENT, Assignment, Command, find
from qops.flags.shell import Word

_SECTION = re.compile(r"^\s*\[(Service|Container|Unit|Install)\]\s*$", re.M)
_SETTING = re.compile(r"^\s*([A-Za-z]+)\s*=\s*(.*)$", re.S)
_SPECIFIER = re.compile(r"%([a-zA-Z])")
_WHOLE_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_DEEPEST = 10  # merges of merges; an anchor may hold itself
_DEFAULTED = re.compile(r"\$\{\w+:?-([^}]*)\}")


@dataclass(slots=True)
class Source:
    """What a file holds: commands that start an engine, and variables that belong to no command in it."""

    commands: list[Command] = field(default_factory=list)
    variables: list[Assignment] = field(default_factory=list)


def read(text: str, name: str, engine: str = "") -> Source:
    """Return what `text` holds, by what it looks like. `engine` is whose arguments a text without a command are.

    Raises ParseError when it looks like a compose file and is no YAML.
    """
    if _SECTION.search(text):
        return _unit(text, engine)
    if re.search(r"^(services|command|environment|entrypoint):", text, re.M):
        return _compose(text, name, engine)
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if lines and all(re.match(r"\s*(?:export\s+)?[A-Za-z_]\w*=", line) for line in lines) and not _starts(text):
        return Source(variables=list(_assignments(text)))
    return _script(text, engine)


def _starts(text: str) -> bool:
    return any(find(words) for words in shell.commands(text))


def command(words: Sequence[Word], engine: str = "", image: str = "") -> Command | None:
    """Return the command that starts an engine, or the arguments of `engine` where no command is written."""
    found = find(words, image)
    if found is None and engine and words and words[0].text.startswith("-"):
        return Command(engine, f"{engine} serve", tuple(words), image=image, line=words[0].line)
    return found


def _assignments(text: str) -> Iterator[Assignment]:
    for number, line in enumerate(text.splitlines(), 1):
        found = re.match(r"\s*(?:export\s+)?([A-Za-z_]\w*)=(.*)", line)
        if found and not line.lstrip().startswith("#"):
            value = found[2].strip()
            quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
            yield Assignment(found[1], value[1:-1] if quoted else value.split(" #")[0].strip(), number)


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
    for line, name, value in _settings(text):
        words = shell.words(_SPECIFIER.sub(r"${\1}", value.replace("%%", "%")), line)
        if name == "Environment":
            matches = [(word, ASSIGNMENT.fullmatch(word.text)) for word in words]
            environment += [Assignment(match[1], match[2], word.line) for word, match in matches if match]
        elif name == "Image":
            image = value.strip()
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


def _settings(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield the line, the name and the value of each setting, with its continuation lines in it."""
    pending: list[str] = []
    first = 0
    for number, line in enumerate(text.splitlines(), 1):
        comment = line.lstrip().startswith(("#", ";"))
        if not pending:
            first = number
        pending.append("\\" if comment and pending else "" if comment else line)
        if pending[-1].rstrip().endswith("\\"):
            continue
        joined = "\n".join(one.rstrip() for one in pending)
        pending = []
        if match := _SETTING.match(joined):
            yield first + joined[: match.start(2)].count("\n"), match[1], match[2]


def _compose(text: str, name: str, engine: str) -> Source:
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        raise ParseError(name, mark.line + 1 if mark else 0, getattr(error, "problem", None) or str(error)) from error
    source = Source()
    top = _mapping(root)
    services = _mapping(top["services"]) if "services" in top else {"": root}
    lines = text.splitlines()
    for service in services.values():
        parts = _mapping(service)
        environment = list(_environment(parts.get("environment")))
        image = _defaults(_scalar(parts.get("image")))
        entry = _words(parts.get("entrypoint"), lines)
        found = command([*entry, *_words(parts.get("command"), lines)], engine, "" if entry else image)
        if found:
            line = found.line or (service.start_mark.line + 1 if service else 0)
            source.commands.append(
                replace(found, environment=(*environment, *found.environment), image=image or found.image, line=line)
            )
        else:
            source.variables += environment
    return source


def _mapping(node: yaml.Node | None, depth: int = 0) -> dict[str, yaml.Node]:
    found: dict[str, yaml.Node] = {}
    if depth > _DEEPEST:
        return found
    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        if key.value == "<<":
            for one in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                found = {**_mapping(one, depth + 1), **found}
        else:
            found[str(key.value)] = value
    return found


def _environment(node: yaml.Node | None) -> Iterator[Assignment]:
    if isinstance(node, yaml.MappingNode):
        for name, value in _mapping(node).items():
            yield Assignment(name, _defaults(_scalar(value)), value.start_mark.line + 1)
    for one in node.value if isinstance(node, yaml.SequenceNode) else ():
        variable, sign, text = _scalar(one).partition("=")
        yield Assignment(variable, _defaults(text) if sign else "$", one.start_mark.line + 1)


def _words(node: yaml.Node | None, lines: Sequence[str]) -> list[Word]:
    if isinstance(node, yaml.SequenceNode):
        return [Word(_defaults(_scalar(one)), one.start_mark.line + 1) for one in node.value]
    if not isinstance(node, yaml.ScalarNode):
        return []
    first = node.start_mark.line
    if node.style in (">", "|"):
        # The folded value has lost its lines; the file has them.
        own = lines[first + 1 : node.end_mark.line + (node.end_mark.column > 0)]
        joined = " \\\n".join(line.rstrip().removesuffix("\\") for line in own)
        return shell.words(_defaults(joined), first + 2)
    return shell.words(_defaults(node.value), first + 1)


def _scalar(node: yaml.Node | None) -> str:
    return str(node.value) if isinstance(node, yaml.ScalarNode) else ""


def _defaults(text: str) -> str:
    """Return `${NAME:-value}` as compose reads it where the variable is not set."""
    return _DEFAULTED.sub(lambda match: match[1], text)
