"""Finds the engine in a command: behind variables, wrappers, `docker run` and `python -m`."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from qops.flags import shell
from qops.flags.shell import Word

ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.S)
MODULES = {"vllm.entrypoints.openai.api_server": "vllm", "sglang.launch_server": "sglang"}
CONTAINERS = ("docker", "podman", "nerdctl")
# Options of `docker run` that take no value (docker and podman command line reference).
_BARE = frozenset((
    "--detach", "--disable-content-trust", "--help", "--init", "--interactive", "--no-healthcheck", "--no-hosts",
    "--oom-kill-disable", "--privileged", "--publish-all", "--quiet", "--read-only", "--replace", "--rm", "--rmi",
    "--sig-proxy", "--tls-verify", "--tty", "--use-api-socket",
))  # fmt: skip
_BARE_LETTERS = {"d": "--detach", "i": "--interactive", "t": "--tty", "P": "--publish-all", "q": "--quiet"}
_LONG = {
    "-a": "--attach", "-c": "--cpu-shares", "-e": "--env", "-h": "--hostname", "-l": "--label", "-m": "--memory",
    "-p": "--publish", "-u": "--user", "-v": "--volume", "-w": "--workdir",
}  # fmt: skip
# Images whose entry point is the server, so that what follows them are its arguments: both projects' Dockerfiles.
_SERVERS = re.compile(r"(?:^|/)vllm(?:-openai|-[a-z0-9-]*)?(?=[:@]|$)")
_SGLANG = re.compile(r"(?:^|/)sglang(?:-[a-z0-9-]*)?(?=[:@]|$)")
_TAG = re.compile(r":v?(\d+\.\d+\.\d+(?:\.post\d+)?)(?![\w.]*rc)")


@dataclass(frozen=True, slots=True)
class Assignment:
    """A variable that is set for the engine."""

    name: str
    value: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class Command:
    """A command that starts an engine. `entry` is how it is called; `arguments` is what follows that."""

    engine: str
    entry: str
    arguments: tuple[Word, ...]
    environment: tuple[Assignment, ...] = ()
    image: str = ""
    line: int = 0

    @property
    def tag(self) -> str:
        """The release that the image's tag names; empty when it names none."""
        found = _TAG.search(self.image)
        return found[1] if found else ""


def made(engine: str, arguments: Sequence[str], environment: Mapping[str, str], image: str = "") -> Command:
    """Return the command that serves with `arguments`, which come from data and not from a file."""
    variables = tuple(Assignment(name, value) for name, value in environment.items())
    return Command(engine, f"{engine} serve", tuple(Word(one) for one in arguments), variables, image)


def find(words: Sequence[Word], image: str = "") -> Command | None:
    """Return the command that starts an engine among `words`; None when there is none.

    `image` is the container's image where the words are what it is given, as in a compose file.
    """
    environment: list[Assignment] = []
    for index, word in enumerate(words):
        name = word.text.rsplit("/", 1)[-1]
        following = words[index + 1].text if index + 1 < len(words) else ""
        if name in CONTAINERS and following in ("run", "container", "create"):
            return _in_container(words[index + 2 :], environment, word.line)
        if name in ("bash", "sh", "dash") and (inner := _script(words[index + 1 :])):
            return _merged(find(inner, image), environment)
        if name in ("vllm", "sglang") and following == "serve":
            return Command(name, f"{name} serve", tuple(words[index + 2 :]), tuple(environment), image, word.line)
        module = following if word.text == "-m" else word.text.removeprefix("-m")
        if word.text.startswith("-m") and module in MODULES:
            rest = words[index + (2 if word.text == "-m" else 1) :]
            return Command(MODULES[module], f"-m {module}", tuple(rest), tuple(environment), image, word.line)
        if assigned := ASSIGNMENT.fullmatch(word.text):
            environment.append(Assignment(assigned[1], assigned[2], word.line))
    return _entry_point(words, image, environment)


def serves(image: str) -> bool:
    """Return whether the entry point of `image` is vLLM's server, and what it is given the server's arguments."""
    return _SERVERS.search(image) is not None and _SGLANG.search(image) is None


def _entry_point(words: Sequence[Word], image: str, environment: Sequence[Assignment]) -> Command | None:
    if not serves(image):
        return None
    if words and not words[0].text.startswith("-") and words[0].text in ("bash", "sh", "python", "python3"):
        return None
    line = words[0].line if words else 0
    return Command("vllm", "vllm serve", tuple(words), tuple(environment), image, line)


def _script(words: Sequence[Word]) -> list[Word]:
    for index, word in enumerate(words[:-1]):
        if re.fullmatch(r"-[a-z]*c", word.text):
            line = words[index + 1].line
            return shell.words(words[index + 1].text, line)
        if not word.text.startswith("-"):
            break
    return []


def _merged(found: Command | None, environment: Sequence[Assignment]) -> Command | None:
    return replace(found, environment=(*environment, *found.environment)) if found else None


def container_options(words: Sequence[Word]) -> tuple[list[tuple[str, Word]], list[Word]]:
    """Split what follows `docker run`: its options, by their long names, and the image with all that follows it.

    An option that takes no value has an empty one. `words` may end before an image.
    """
    found: list[tuple[str, Word]] = []
    index = 0
    while index < len(words) and words[index].text.startswith("-"):
        word = words[index]
        name, sign, value = word.text.partition("=")
        index += 1
        if not name.startswith("--"):
            if set(name[1:]) <= _BARE_LETTERS.keys():
                found += [(_BARE_LETTERS[letter], Word("", word.line)) for letter in name[1:]]
                continue
            if len(word.text) > 2:
                sign, value = "=", word.text[2:].removeprefix("=")
            name = _LONG.get(word.text[:2], word.text[:2])
        if sign:
            found.append((name, replace(word, text=value)))
        elif name in _BARE:
            found.append((name, Word("", word.line)))
        else:
            found.append((name, words[index] if index < len(words) else Word("", word.line)))
            index += 1
    return found, list(words[index:])


def _in_container(words: Sequence[Word], environment: Sequence[Assignment], line: int) -> Command | None:
    """`docker run [OPTIONS] IMAGE [COMMAND] [ARG...]`; the host's own variables do not reach the container."""
    passed: list[Assignment] = []
    entry: list[Word] = []
    host = {one.name: one.value for one in environment}
    options, rest = container_options(words)
    for name, value in options:
        if name == "--env":
            variable, given, text = value.text.partition("=")
            passed.append(Assignment(variable, text if given else host.get(variable, "$"), value.line))
        elif name == "--entrypoint":
            entry = shell.words(value.text, value.line)
    if not rest:
        return None
    image = rest[0].text
    found = find([*entry, *rest[1:]], "" if entry else image)
    if found is None:
        return None
    return replace(found, environment=(*passed, *found.environment), image=image, line=line)
