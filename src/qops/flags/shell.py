"""Splits shell text into commands and their words, with the line that each word begins on."""

from dataclasses import dataclass, field

_ENDS = frozenset(";\n&|()")
_BLANKS = frozenset(" \t\r")


@dataclass(frozen=True, slots=True)
class Word:
    """A word without its quotes. `line` counts from 1; 0 is a word that comes from no file.

    `literal`: a `$` in it stands for itself; `whole`: it stays one word, whatever its variables hold.
    """

    text: str
    line: int = 0
    literal: bool = field(default=False, compare=False)
    whole: bool = field(default=False, compare=False)


@dataclass(slots=True)
class _Splitter:
    text: str
    line: int
    at: int = 0
    commands: list[list[Word]] = field(default_factory=lambda: [[]])
    literal: bool = False  # of the word that is read
    whole: bool = False

    def run(self) -> list[list[Word]]:
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in _BLANKS or self.text.startswith("\\\n", self.at):
                self._step(2 if char == "\\" else 1)
            elif char == "#":
                end = self.text.find("\n", self.at)
                self._step((len(self.text) if end < 0 else end) - self.at)
            elif char in _ENDS:
                self._step(1)
                if self.commands[-1]:
                    self.commands.append([])
            else:
                line = self.line
                self.literal = self.whole = False
                text = self._word()
                self.commands[-1].append(Word(text, line, self.literal, self.whole))
        return [one for one in self.commands if one]

    def _step(self, count: int) -> str:
        taken = self.text[self.at : self.at + count]
        self.line += taken.count("\n")
        self.at += count
        return taken

    def _word(self) -> str:
        found = ""
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in _BLANKS or char in _ENDS:
                break
            if char == "\\":
                taken = self._step(2)
                self.literal = self.literal or taken == "\\$"
                found += "" if taken == "\\\n" else taken[1:]
            elif char == "'":
                end = self.text.find("'", self.at + 1)
                end = len(self.text) if end < 0 else end
                self.literal = self.literal or "$" in self.text[self.at : end]
                found += self._step(end + 1 - self.at).strip("'") if end > self.at else ""
            elif char == '"':
                found += self._quoted()
            elif self.text.startswith(("${", "$("), self.at):
                found += self._step(closing(self.text, self.at + 1) + 1 - self.at)
            else:
                found += self._step(1)
        return found

    def _quoted(self) -> str:
        self._step(1)
        self.whole = True
        found = ""
        while self.at < len(self.text) and self.text[self.at] != '"':
            if self.text[self.at] == "\\" and self.at + 1 < len(self.text):
                taken = self._step(2)
                self.literal = self.literal or taken == "\\$"
                found += taken[1:] if taken[1] in '"\\$`' else "" if taken[1] == "\n" else taken
            elif self.text.startswith(("${", "$("), self.at):
                found += self._step(closing(self.text, self.at + 1) + 1 - self.at)
            else:
                found += self._step(1)
        self._step(1)
        return found


def closing(text: str, at: int) -> int:
    """Return where what opens at `at` (a bracket) is closed again; the text's last character where it is not."""
    pairs = {"(": ")", "{": "}"}
    open_: list[str] = []
    quote = ""
    for index in range(at, len(text)):
        char = text[index]
        if quote:
            quote = "" if char == quote else quote
        elif char == "'":
            quote = char
        elif char in pairs:
            open_.append(pairs[char])
        elif open_ and char == open_[-1]:
            open_.pop()
            if not open_:
                return index
    return len(text) - 1


def commands(text: str, line: int = 1) -> list[list[Word]]:
    """Return the commands in `text`, whose first line has the number `line`. Nothing is expanded.

    A quote that nothing closes ends with the text.
    """
    return _Splitter(text, line).run()


def words(text: str, line: int = 1) -> list[Word]:
    """Return all words of `text` as one command."""
    return [word for command in commands(text, line) for word in command]
