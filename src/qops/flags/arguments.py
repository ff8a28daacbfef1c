"""Reads an engine's arguments as its parser does: names, prefixes, `--a_b`, `--a.b.c`, values that follow."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from qops.data.engines import Option
from qops.flags.accepted import Accepted, Name
from qops.flags.remark import Kind, Remark, Severity
from qops.flags.shell import Word

_NEGATIVE = re.compile(r"-\d+|-\d*\.\d+")  # argparse takes these for values
_SEVERAL = re.compile(r"\$\w+|\$\(.*\)")  # a variable without braces may be none, one or many words
_VARIABLE = re.compile(r"\$|\{\{|<[a-z]")  # filled in later by a shell, by compose, by a template, by a reader


@dataclass(frozen=True, slots=True)
class Argument:
    """An option that was given: the name that it is listed under, as it was written, and its values.

    `path` are the keys of `--a.b.c value`.
    """

    key: str
    written: str
    option: Option
    values: tuple[Word, ...]
    negates: bool = False
    path: tuple[str, ...] = ()
    line: int = 0


@dataclass(slots=True)
class Read:
    """What was read: options, the words that are no option's, and what is wrong with the names.

    `open`: a variable stands for words that nobody knows yet.
    """

    arguments: list[Argument] = field(default_factory=list)
    positionals: list[Word] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)
    open: bool = False


def later_filled(text: str) -> bool:
    """Return whether a value is one that something fills in later, so that nothing can be said of it."""
    return _VARIABLE.search(text) is not None


def read(accepted: Accepted, words: Sequence[Word], unknown: Callable[[str, int], Remark]) -> Read:
    """Read `words`; `unknown` makes the remark for a name that the parser does not know."""
    return _Reading(accepted, list(_vllm(words) if accepted.engine.engine == "vllm" else words), unknown).run()


def _vllm(words: Sequence[Word]) -> Iterator[Word]:
    """Do what vLLM does to its words before argparse sees them (utils/argparse_utils.py FlexibleArgumentParser)."""
    for index, word in enumerate(words):
        text = word.text
        if text.startswith("--"):
            name, sign, value = text.partition("=")
            head, dot, path = name.partition(".")
            text = f"{head.replace('_', '-')}{dot}{path}{sign}{value}"
        elif text == "-O" and index + 1 < len(words) and words[index + 1].text in ("0", "1", "2", "3"):
            text = "--optimization-level"
        elif text.startswith("-O") and len(text) > 2:
            text = f"--optimization-level={text[2:].removeprefix('=')}"
        yield Word(text, word.line)


class _Reading:
    def __init__(self, accepted: Accepted, words: list[Word], unknown: Callable[[str, int], Remark]) -> None:
        self.accepted = accepted
        self.words = words
        self.unknown = unknown
        self.result = Read()
        self.at = 0

    def run(self) -> Read:
        while self.at < len(self.words):
            word = self.words[self.at]
            self.at += 1
            if word.text == "--":
                self.result.positionals += self.words[self.at :]
                break
            if self._is_value(word.text):
                if _SEVERAL.fullmatch(word.text):
                    self.result.open = True
                else:
                    self.result.positionals.append(word)
            else:
                self._option(word)
        return self.result

    def _is_value(self, text: str) -> bool:
        if not text.startswith("-") or text == "-" or _NEGATIVE.fullmatch(text):
            return True
        return " " in text and text.partition("=")[0] not in self.accepted.names and " " in text.partition("=")[0]

    def _option(self, word: Word) -> None:
        written, sign, value = word.text.partition("=")
        path: tuple[str, ...] = ()
        if self.accepted.engine.engine == "vllm" and "." in written:
            written, *inner = written.removesuffix("+").split(".")
            path = tuple(inner)
        found = self._named(written, word.line)
        if found is None:
            if not sign:
                self._skip()
            return
        name, attached = found
        given = [Word(value, word.line)] if sign else [Word(attached, word.line)] if attached else []
        values = self._values(name, written, given, bool(path), word.line)
        self.result.arguments.append(
            Argument(name.key, written, name.option, tuple(values), name.negates, path, word.line)
        )

    def _named(self, written: str, line: int) -> tuple[Name, str] | None:
        names = self.accepted.names
        if written in names:
            return names[written], ""
        if not written.startswith("--") and written[:2] in names and names[written[:2]].option.kind != "switch":
            return names[written[:2]], written[2:]
        found = sorted(self.accepted.starting(written)) if len(written) > 2 else []
        if len(found) == 1:
            text = f"it is short for {found[0]} in this release; another may have two such options, or none"
            self._say(Kind.SHORTENED, Severity.WARNING, written, text, found[0], line)
            return names[found[0]], ""
        if found:
            shown = ", ".join(found[:6]) + (", …" if len(found) > 6 else "")
            text = f"{self.accepted.title} refuses it: it could be {shown}"
            self._say(Kind.PREFIX, Severity.ERROR, written, text, self._heir(written, found), line)
            return None
        self.result.remarks.append(self.unknown(written, line))
        return None

    def _heir(self, written: str, found: Sequence[str]) -> str:
        states = self.accepted.ever(written)
        left = self.accepted.left(states) if states else None
        return left[0].instead if left and left[0].instead else " or ".join(found[:2])

    def _skip(self) -> None:
        """Pass over what seems to be the value of a name that nobody knows."""
        if self.at < len(self.words) and self._is_value(self.words[self.at].text):
            self.at += 1

    def _values(self, name: Name, written: str, given: list[Word], dotted: bool, line: int) -> list[Word]:
        option = name.option
        if option.kind in ("switch", "bool"):
            if given:
                wanted = given[0].text.lower()
                off = next(iter(option.negations(name.key)), "")
                right = off or "leave it out" if wanted in ("false", "0", "no") else name.key
                text = "it takes no value"
                self._say(Kind.TYPE, Severity.ERROR, written, text, right, line)
            elif self._next_is_boolean():
                taken = self.words[self.at]
                self.at += 1
                off = next(iter(option.negations(name.key)), "leave it out")
                right = off if taken.text.lower() == "false" else name.key
                text = f"it takes no value, and {taken.text!r} would be an argument of its own"
                self._say(Kind.TYPE, Severity.ERROR, written, text, right, line)
            return []
        if given:
            return given
        least, most = (1, 1) if dotted else _number(option.nargs)
        found: list[Word] = []
        while self.at < len(self.words) and len(found) < most and self._is_value(self.words[self.at].text):
            found.append(self.words[self.at])
            self.at += 1
        if len(found) < least:
            text = f"it needs {'a value' if least == 1 else f'{least} values'}, and none follows"
            self._say(Kind.TYPE, Severity.ERROR, written, text, "", line)
        return found

    def _next_is_boolean(self) -> bool:
        return self.at < len(self.words) and self.words[self.at].text.lower() in ("true", "false")

    def _say(self, kind: Kind, severity: Severity, flag: str, message: str, instead: str, line: int) -> None:
        self.result.remarks.append(Remark(kind, severity, flag, message, instead, line=line))


def _number(nargs: str) -> tuple[int, int]:
    """Return the least and the most values."""
    if nargs.isdigit():
        return int(nargs), int(nargs)
    return {"": (1, 1), "?": (0, 1), "*": (0, 10_000), "+": (1, 10_000)}.get(nargs, (1, 1))
