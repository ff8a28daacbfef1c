"""`docker run` command lines, and the rows of `docker ps`."""

import re
import shlex
from collections.abc import Iterator

from qops.evidence.container import Container
from qops.evidence.text import Quote, Text
from qops.pattern import lazy
from qops.probes.sizes import limit, size

_RUN = lazy(r"(?:^|[\s;&|(\"'`])(docker|podman|nerdctl)\s+(?:container\s+)?(?:run|create)\s+(?=[-\w\\])")
_OWN_LINE = lazy(r"\W*(?:\S{1,60}[$#>%] ?)?\W*(?:sudo|exec|nohup|ExecStart=\S*)?\W*(?:-\w )?$")
_IMAGE = lazy(r"[\w$<{][\w./:@<>${}\-]{0,299}")
_MOST_LINES = 60  # of one command with its continuations
# Options without a value (docker run reference); all others take one.
_SWITCHES = frozenset(
    ("--detach", "--init", "--interactive", "--no-healthcheck", "--oom-kill-disable", "--privileged", "--publish-all",
     "--quiet", "--read-only", "--rm", "--sig-proxy", "--tty", "--replace", "--help")
)  # fmt: skip
_SHORT_SWITCHES = frozenset("ditPq")
_SHORT = {"-e": "--env", "-v": "--volume", "-p": "--publish", "-w": "--workdir", "-u": "--user", "-m": "--memory",
          "-h": "--hostname", "-l": "--label", "-a": "--attach", "-c": "--cpu-shares"}  # fmt: skip
_PS_HEADER = lazy(r"^\s*CONTAINER ID\s+IMAGE\s+COMMAND\s+CREATED\s+STATUS\s")
_PS_ROW = lazy(
    r"^\s*[0-9a-f]{12}\s+(\S{1,200})\s+(?:\"[^\"]{0,100}\"|\S{1,60})\s.{0,60}?"
    r"\s(Up|Exited \((-?[0-9]{1,5})\)|Restarting \((-?[0-9]{1,5})\)|Created|Dead|Paused)(?!\w)"
    r".{0,400}?\s([\w][\w.\-]{0,128})\s*$"
)


def is_command(text: Text) -> bool:
    """Return whether `text` holds a `docker run` line or a `docker ps` table."""
    return any(_run(line) or _PS_HEADER.match(line) for line in text.lines)


def run_commands(text: Text) -> Iterator[Container]:
    """Yield a container for each `docker run` command line in `text`."""
    index = 0
    while index < len(text.lines):
        match = _run(text.lines[index])
        if match is None:
            index += 1
            continue
        command, used = _continued(text, index, match.end())
        sentence = not _OWN_LINE.match(text.lines[index][: match.start(1)])
        container = _from_words(_words(command), text.quote(index), sentence=sentence)
        if container is not None:
            yield container
        index += used


def _run(line: str) -> re.Match[str] | None:
    return _RUN.search(line[:4000]) if " run " in line or " create " in line else None


def rows(text: Text) -> Iterator[Container]:
    """Yield a container for each row of a `docker ps` table."""
    table = False
    for index, line in enumerate(text.lines):
        if _PS_HEADER.match(line):
            table = True
        elif table and (match := _PS_ROW.match(line[:1000])):
            code = match[3] or match[4]
            yield Container(
                name=match[5],
                quote=text.quote(index),
                image=match[1],
                running=match[2] == "Up",
                exit_code=int(code) if code else None,
            )
        else:
            table = table and bool(line.strip())


def _continued(text: Text, index: int, start: int) -> tuple[str, int]:
    parts = [text.lines[index][start : start + 8000]]
    used = 1
    while parts[-1].rstrip().endswith("\\") and used < _MOST_LINES and index + used < len(text.lines):
        parts[-1] = parts[-1].rstrip()[:-1]
        parts.append(text.lines[index + used][:8000])
        used += 1
    return " ".join(parts).rstrip().rstrip("`"), used


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command, comments=False)
    except ValueError:  # a quote that a paste has cut
        return command.split()


def _from_words(words: list[str], quote: Quote, *, sentence: bool) -> Container | None:
    options: list[tuple[str, str]] = []
    position = 0
    while position < len(words) and words[position].startswith("-") and len(words[position]) > 1:
        name, sign, value = words[position].partition("=")
        position += 1
        if not name.startswith("--"):
            if set(name[1:]) <= _SHORT_SWITCHES:
                continue
            value = name[2:] + sign + value if len(name) > 2 else value
            name, sign = _SHORT.get(name[:2], name[:2]), value
        if not sign and name not in _SWITCHES:
            value = words[position] if position < len(words) else ""
            position += 1
        options.append((name, value))
    image = words[position] if position < len(words) else ""
    # Advice in a sentence (`… docker run --ipc=host …`) names no image, or the sentence's next word.
    if not _IMAGE.fullmatch(image) or (sentence and not set("/:") & set(image)):
        return None
    given = dict(options)
    every = [(n, v) for n, v in options]
    environment = tuple((n, v) for n, _, v in (v.partition("=") for name, v in every if name == "--env"))
    memlock = next((v.partition("=")[2] for n, v in every if n == "--ulimit" and v.startswith("memlock=")), "")
    devices = [v for n, v in every if n == "--device"]
    gpus = "--gpus" in given or given.get("--runtime") == "nvidia" or any("nvidia" in d for d in devices)
    return Container(
        name=given.get("--name", ""),
        quote=quote,
        image=image,
        runtime=given.get("--runtime", ""),
        shm_size=size(given["--shm-size"]) if "--shm-size" in given else None,
        ipc_mode=given.get("--ipc", ""),
        network_mode=given.get("--network", given.get("--net", "")),
        restart=given.get("--restart", ""),
        memlock=limit(memlock.split(":")[0]) if memlock else None,
        capabilities=tuple(v for n, v in every if n == "--cap-add") + (("ALL",) if "--privileged" in given else ()),
        gpus_requested=gpus,
        environment=environment,
        command=tuple(words[position + 1 : position + 200]),
    )
