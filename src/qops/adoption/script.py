"""Shell text that starts engines: a script with `docker run`, one that calls `vllm`, or what follows `bash -c`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from qops.adoption import expansion, options
from qops.adoption.arrays import taken_out
from qops.adoption.found import Found, Left, Reader, shown
from qops.adoption.reasons import SCRIPTED
from qops.flags import shell
from qops.flags.command import ASSIGNMENT, CONTAINERS, MODULES, container_options, find
from qops.flags.shell import Word

_KEYWORDS = frozenset(("if", "then", "else", "elif", "do", "while", "until", "!", "{", "time"))
_EXPORTS = frozenset(("export", "declare", "readonly", "local", "typeset"))
_QUIET = frozenset((
    "shift", "fi", "done", "esac", "}", "true", ":", "exit", "[", "[[", "test", "echo", "printf",
))  # fmt: skip
_DEEPEST = 5  # files that source files
_REMOVABLE = frozenset(("exec", "nohup", "setsid", "env", "--", "command"))
_REDIRECT = re.compile(r"(?:\d*|&)(?:>{1,2}|<)(&?\S*)")
_ACTIVATE = re.compile(r"(/\S+)/bin/activate")
_CONDA = re.compile(r"(/[^\s\"'$()]+)/(?:bin/conda|bin/mamba|bin/activate|etc/profile\.d/conda\.sh)")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"  # of a shell that nobody has changed
_TAKES_A_VALUE = ("-u", "--unset", "-C", "--chdir")


@dataclass(slots=True)
class Script:
    """Shell text in the making. `values` are its variables, `exported` those that an engine sees."""

    source: str
    values: dict[str, str]
    read: Reader
    exported: set[str] = field(default_factory=set)
    inside: bool = False  # in a container, whose programs are not the host's
    found: list[Found] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)
    conda: str = ""  # the folder that conda is in
    arrays: dict[str, list[Word]] = field(default_factory=dict)
    exports_all: bool = False  # set -a
    depth: int = 0

    def run(self, text: str, line: int = 1) -> list[Found]:
        """Return the engines that `text` starts; its first line has the number `line`."""
        rest, arrays = taken_out(text, line)
        for array in arrays:
            self.arrays[array.name] = [*(self.arrays.get(array.name, []) if array.adds else []), *array.words]
            if array.conditional:
                told = "added, whatever the condition around it says"
                self.left.append(Left(self._where(array.line), f"{array.name}+=", told))
        for command in shell.commands(rest, line):
            self._command(command)
        if not self.depth:
            for one in self.found:
                one.left += self.left
        return self.found

    def _command(self, command: list[Word]) -> None:
        words = list(_without_redirections(command))
        while words and words[0].text in _KEYWORDS:
            words.pop(0)
        # A number alone is what the splitter leaves of `2>&1`.
        if not words or words[0].text in _QUIET or (len(words) == 1 and words[0].text.isdigit()):
            return
        if words[0].text == "set":
            said = " ".join(word.text for word in words[1:])
            self.exports_all = said in ("-a", "-o allexport") or (
                self.exports_all and said not in ("+a", "+o allexport")
            )
            return
        for word in words:
            if conda := _CONDA.search(word.text):
                self.conda = conda[1]
        assigned = words[1:] if words[0].text in _EXPORTS else words
        if all(ASSIGNMENT.fullmatch(word.text) or word.text.startswith("-") for word in assigned):
            for word in assigned:
                self._assign(word, exported=words[0].text == "export")
        elif words[0].text == "export":
            self.exported.update(word.text for word in assigned)
        elif words[0].text in ("source", ".") and len(words) > 1:
            self._source(words)
        elif words[0].text in ("conda", "mamba") and len(words) > 2 and words[1].text == "activate":
            self._environment(words[2].text)
        elif words[0].text == "cd" and len(words) > 1:
            self.values["PWD"] = expansion.text(words[1].text, self.values)
        else:
            self.start(list(expansion.words(words, self.values, self.arrays)))

    def _assign(self, word: Word, *, exported: bool) -> None:
        match = ASSIGNMENT.fullmatch(word.text)
        if match is None:
            return
        self.values[match[1]] = match[2] if word.literal else expansion.text(match[2], self.values)
        if exported or self.exports_all:
            self.exported.add(match[1])

    def _source(self, words: list[Word]) -> None:
        path = expansion.text(words[1].text, self.values)
        if activate := _ACTIVATE.fullmatch(path):
            self.values["VIRTUAL_ENV"] = activate[1]
            if len(words) > 2:
                self._environment(words[2].text)  # source /opt/conda/bin/activate NAME
        elif not path.endswith("conda.sh"):
            whole = path if path.startswith("/") else f"{self.values.get('PWD', '')}/{path.removeprefix('./')}"
            content = self.read(whole) if self.depth < _DEEPEST else None
            if content is None:
                self.left.append(Left(self._where(words[0].line), shown("source", path), "it could not be read"))
                return
            outer, self.source, self.depth = self.source, path, self.depth + 1
            self.run(content)
            self.source, self.depth = outer, self.depth - 1

    def _environment(self, name: str) -> None:
        if name.startswith("/"):
            self.values["VIRTUAL_ENV"] = name
        elif self.conda:
            self.values["VIRTUAL_ENV"] = self.conda if name == "base" else f"{self.conda}/envs/{name}"

    def start(self, words: list[Word]) -> None:
        """Take over the engine that one command starts, or leave the command."""
        run = next((i for i, word in enumerate(words) if _is_run(words, i, word)), None)
        if run is not None:
            after = words[run + 2 :] if words[run + 1].text != "container" else words[run + 3 :]
            made = container(after, self.source, words[run].line, self.values, self.read)
            if made is not None:
                made.runtime = "podman" if words[run].text.endswith("podman") else "docker"
                self.found.append(made)
                return
        elif (at := program(words)) is not None:
            self.found.append(self._bare(words, at))
            return
        elif inner := _script_of(words):
            self.depth += 1
            self.run(inner.text, inner.line)
            self.depth -= 1
            return
        told = shown(words[0].text, words[1].text if len(words) > 1 else "")
        self.left.append(Left(self._where(words[0].line), told, SCRIPTED))

    def _bare(self, words: list[Word], at: int) -> Found:
        made = Found(self.source, words[at].line)
        for name in sorted(self.exported & set(self.values)):
            made.set(name, self.values[name], words[at].line)
        kept = self._wrappers(made, words[:at])
        start = words[at]
        if not self.inside:
            path = start.text if start.text.startswith("/") else self._path(start.text)
            start = Word(options.plain(path) if path.startswith("/") else path, start.line)
        made.words = [*kept, start, *words[at + 1 :]]
        if not self.inside and (folder := self._activated()):
            made.set("PATH", f"{folder}/bin:{PATH}", start.line)  # what it was activated for
        return made

    def _wrappers(self, made: Found, words: list[Word]) -> list[Word]:
        """Return the words before the engine's program that stay: what binds it to processors, for example."""
        kept: list[Word] = []
        names = [word.text.rsplit("/", 1)[-1] for word in words]
        if "run" in names and {"conda", "mamba", "micromamba"} & set(names):
            self._environment(_value(words, ("-n", "--name", "-p", "--prefix")))
            return []
        skip = False
        for word, name in zip(words, names, strict=True):
            if skip:
                skip = False
            elif assigned := ASSIGNMENT.fullmatch(word.text):
                made.set(assigned[1], assigned[2], word.line)
            elif name in _TAKES_A_VALUE and not kept:
                skip = True
            elif name not in _REMOVABLE or kept:
                kept.append(word)
        if kept and not (self.inside or kept[0].text.startswith("/")):
            made.leave(kept[0].line, kept[0].text, "a unit starts programs by their path; both engines bind themselves")
            return []
        return kept

    def _path(self, name: str) -> str:
        if folder := self._activated():
            return f"{folder}/bin/{name}"
        first = self.values.get("PATH", "").split(":")[0]
        return f"{first}/{name}" if first.startswith("/") and first not in PATH.split(":") else name

    def _activated(self) -> str:
        folder = self.values.get("VIRTUAL_ENV", "")
        return "" if expansion.is_unset(folder) else folder

    def _where(self, line: int) -> str:
        return f"{self.source}:{line}" if line else self.source


def container(words: list[Word], source: str, line: int, values: dict[str, str], read: Reader) -> Found | None:
    """Return the engine that `docker run` with `words` starts; None where it starts something else."""
    given, rest = container_options(words)
    if not rest:
        return None
    entry = [value for name, value in given if name == "--entrypoint"][-1:]
    return assembled(Found(source, line, runtime="docker", image=rest[0].text), entry, rest[1:], given, values, read)


def assembled(
    made: Found,
    entry: list[Word],
    command: list[Word],
    given: list[options.Option],
    values: dict[str, str],
    read: Reader,
) -> Found | None:
    """Return a container's engine of its entry point, its command and its options; None where it is something else."""
    made.words = _passed_on([*(word for word in entry if word.text), *command])
    if find(made.words, "" if entry and entry[0].text else made.image) is None:
        return None
    options.apply(made, given, values, read)
    return unwrapped(made, read)


def _passed_on(words: list[Word]) -> list[Word]:
    """Return the command that a shell only passes on, in the form in which the role gives secrets to a container."""
    script = _script_of(words)
    if script is None or not script.text.rstrip().endswith('exec "$@"'):
        return words
    return words[words.index(script) + 2 :]


def unwrapped(made: Found, read: Reader) -> Found:
    """Return an engine without the shell around it, whose other commands are left."""
    script = _script_of(made.words)
    if script is None or made.words[0].text.rsplit("/", 1)[-1] not in ("sh", "bash", "dash"):
        return made
    values = {name: one.value for name, one in made.environment.items()}
    inner = Script(made.source, values, read, inside=True).run(script.text, script.line)
    if len(inner) != 1 or inner[0].image:
        return made
    made.words = inner[0].words
    made.environment |= inner[0].environment
    made.left += inner[0].left
    return made


def program(words: list[Word]) -> int | None:
    """Return where in `words` the engine's program is; None where there is none."""
    for index, word in enumerate(words):
        following = words[index + 1].text if index + 1 < len(words) else ""
        if word.text.rsplit("/", 1)[-1] in ("vllm", "sglang") and following == "serve":
            return index
        if word.text == "-m" and following in MODULES and index:
            return index - 1
    return None


def _is_run(words: list[Word], index: int, word: Word) -> bool:
    following = [one.text for one in words[index + 1 : index + 3]]
    known = word.text.rsplit("/", 1)[-1] in CONTAINERS
    return known and (following[:1] in (["run"], ["create"]) or following == ["container", "run"])


def _script_of(words: list[Word]) -> Word | None:
    """Return the text that a shell among `words` runs."""
    for index, word in enumerate(words[:-1]):
        if re.fullmatch(r"-[a-z]*c", word.text) and index:
            shells = [one.text.rsplit("/", 1)[-1] for one in words[:index]]
            return words[index + 1] if {"sh", "bash", "dash"} & set(shells) else None
    return None


def _value(words: list[Word], names: tuple[str, ...]) -> str:
    for index, word in enumerate(words):
        name, sign, value = word.text.partition("=")
        if name in names:
            return value if sign else words[index + 1].text if index + 1 < len(words) else ""
    return ""


def _without_redirections(words: list[Word]) -> Iterator[Word]:
    skip = False
    for word in words:
        match = None if word.whole or word.literal else _REDIRECT.fullmatch(word.text)
        if skip:
            skip = False
        elif match:
            skip = not match[1] and not word.text.endswith("&")
        else:
            yield word
