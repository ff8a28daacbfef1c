"""Environment variables in text: which lines set one, and which merely talk about it."""

import re
from collections.abc import Iterator

from msgspec import Struct

from qops.pattern import lazy

LONGEST = 8000  # characters of a line that are looked at

_FAMILIES = (
    "NCCL|CUDA|CUDNN|CUBLAS|NVIDIA|NV|TORCH|TORCHINDUCTOR|TORCHELASTIC|PYTORCH|VLLM|SGLANG|SGL|OMP|MKL|HF|GLOO|UCX|RAY|NVSHMEM"
    "|TRITON|FLASHINFER|TRANSFORMERS|TRTLLM|OMPI|UCC|SHARP|MASTER|GPU|MODEL|TENSOR|MAX|PIP"
)
NAME = (
    rf"(?:(?:{_FAMILIES})_[A-Z0-9][A-Z0-9_]{{0,80}}|LD_LIBRARY_PATH|LD_PRELOAD|CUDAHOSTCXX|RANK|LOCAL_RANK|WORLD_SIZE"
    r"|LOCAL_WORLD_SIZE|NODE_RANK|NNODES|NPROC_PER_NODE|TOKENIZERS_PARALLELISM|PYTHONHASHSEED|TP_SIZE|TP|PP)"
)
# A value ends at a blank, a quote, a bracket or a shell separator; in quotes it ends at the closing one.
_VALUE = r"(?:\"([^\"]*)\"|'([^']*)'|((?:\$\{[^{}]{0,100}\}|<[\w -]{1,40}>|[^\s\"'`;&|<>(){}])*))"
_ONE = lazy(rf"({NAME})={_VALUE}", re.ASCII)
_NEXT = lazy(rf"(?:\s*\([^()]{{0,60}}\))?[\s,;]{{0,80}}(?:export\s+)?({NAME})={_VALUE}", re.ASCII)

_ANY = lazy(r"\s*[A-Za-z_][A-Za-z0-9_]{1,80}=")
_START = lazy(r"^\s*(?:(?:\w[\w.-]*@[\w.-]+:?\S*)?[$#>]\s+|[-*+•]\s+|[0-9]{1,2}[.)]\s+)?[\"'`]?\s*", re.ASCII)
_LABEL = lazy(r"(?:env|environment|env(?:ironment)? var(?:iable)?s?|variables|settings?|vars)\s*[:=]\s*", re.IGNORECASE)
_PREFIX = lazy(r"(?:export|declare\s+-x|typeset\s+-x|setenv|set\s+-x|ENV|sudo|nohup|time|exec|env)\s+(?:-[iux]\s+)?")
_EXPORT = lazy(r"(?:^|[\s;&|('\"])(?:export|declare -x)\s+(?=[A-Z])")
_ENV = lazy(r"(?:^|[\s;&|('\"])env\s+(?:-[iu]\s+)?(?=[A-Z])")
_FLAG = lazy(
    rf"(?:^|(?<!declare)(?<!typeset)\s)(?:-e|-x|--env|-env|--envs?)(?:\s+|=)?[\"']?({NAME})={_VALUE}", re.ASCII
)
_GENV = lazy(rf"(?:^|\s)-genv\s+({NAME})\s+{_VALUE}", re.ASCII)
_SETENV = lazy(rf"^\s*(?:setenv|ENV)\s+({NAME})\s+{_VALUE}\s*$", re.ASCII)
_SYSTEMD = lazy(r"^\s*(?:Default)?Environment=(.*)$")
_YAML = lazy(rf"^\s*-?\s*[\"']?({NAME})[\"']?\s*:\s+(\S.{{0,2000}})$", re.ASCII)
_YAML_PARENT = lazy(r"^(\s*)(?:-\s+)?(?:environment|env|env_vars|extra_env)\s*:\s*(?:#.*)?$")
_K8S_NAME = lazy(rf"^\s*-\s+name:\s+[\"']?({NAME})[\"']?\s*$", re.ASCII)
_K8S_VALUE = lazy(r"^\s*value:\s+(\S.{0,2000})$")
# What may stand behind assignments: nothing, a remark, or the command that they are for.
_ANNOTATION = lazy(r"(?:\([^()]{0,200}\)|#.*|//.*|<-.*|←.*)?\s?[\\\\,;\"'`)]{0,3}")
_COMMAND = lazy(
    r"\s+(?:\./|/|~/|\$)?[\w./~${}-]*(?:python[0-9.]*|torchrun|vllm|sglang|mpirun|mpiexec|srun|accelerate|deepspeed|ray|uv|docker"
    r"|podman|bash|sh|zsh|numactl|nohup|taskset|timeout|_perf|\.py|\.sh|trtllm-serve|ollama|nsys|gdb|env|exec|sudo|make|pip[0-9]?"
    r"|cargo|node|llama-server|nvidia-smi|all_reduce\w*)(?=[\s\\\"']|$)"
)


_SIGNS = ("=", "name:", "ENV ", "setenv", "-genv")


class Assignment(Struct, frozen=True):
    """A variable that a line sets. `kind` says how: "shell", "container", "unit", "image", "job"."""

    name: str
    value: str
    kind: str
    index: int  # of the line, from 0


def assignments(lines: tuple[str, ...]) -> Iterator[Assignment]:
    """Yield every variable that `lines` set, in order.

    A line sets variables when it is an assignment (or several, with a command behind them or not), an export, a
    container's `-e` flag, a list item or mapping under `environment:`, a unit's `Environment=`. Sentences and
    program text that mention one do not.
    """
    parent: int | None = None  # indentation of the YAML mapping `environment:`
    pending = ""
    for index, whole in enumerate(lines):
        line = whole[:LONGEST].rstrip()
        if "env" in line and (match := _YAML_PARENT.match(line)):
            parent, pending = len(match[1]), ""
            continue
        if parent is None and not pending and not any(sign in line for sign in _SIGNS):
            continue
        if parent is not None and line.strip():
            inside = len(line) - len(line.lstrip()) > parent or line.lstrip().startswith("- ")
            parent = parent if inside else None
        if "name:" in line and (match := _K8S_NAME.match(line)):
            pending = match[1]
        elif pending and (match := _K8S_VALUE.match(line)):
            yield Assignment(pending, _unquoted(match[1]), "container", index)
            pending = ""
        elif parent is not None and (match := _YAML.match(line)):
            yield Assignment(match[1], _unquoted(match[2]), "container", index)
        elif "=" in line or " ENV " in f" {line}" or "setenv" in line or "-genv" in line:
            yield from _in_line(lines, index, line, listed=parent is not None)


def _in_line(lines: tuple[str, ...], index: int, line: str, *, listed: bool) -> Iterator[Assignment]:
    if "Environment=" in line and (match := _SYSTEMD.match(line)):
        yield from (Assignment(m[1], _value(m), "unit", index) for m in _systemd(match[1]))
        return
    flags = list(_FLAG.finditer(line)) if "-e" in line or "-x" in line else []
    if "-genv" in line:
        flags += _GENV.finditer(line)
    if flags:
        yield from (Assignment(m[1], _value(m), "container", index) for m in flags)
        return
    if ("setenv" in line or "ENV" in line) and (match := _SETENV.match(line)):
        yield Assignment(match[1], _value(match), "image" if line.lstrip().startswith("ENV") else "shell", index)
        return
    kind = "container" if listed else "image" if line.lstrip().startswith("ENV ") else "shell"
    start = _START.match(line)
    position = start.end() if start else 0
    quoted = line[:position].rstrip().endswith(('"', "'"))
    if label := _LABEL.match(line, position):
        position = label.end()
    for _ in range(3):
        if prefix := _PREFIX.match(line, position):
            kind = "job" if prefix[0].startswith(("env", "sudo", "nohup", "time", "exec")) else kind
            position = prefix.end()
    found = _run(line, position)
    if found:
        rest = line[found[-1].end() :]
        last = found[-1]
        if rest and _COMMAND.match(rest):
            kind = "job" if kind == "shell" else kind
        elif rest.strip() and not _ANNOTATION.fullmatch(rest.strip()) and not re.match(r"\s*(?:&&|;|\|)", rest):
            if len(found) > 1 or not _dump(lines, index) or line[:1] in "-*" or rest[:1] in ")]}":
                return
            yield Assignment(last[1], line[last.end(1) + 1 :].strip().strip("\"'"), kind, index)
            return
        kind = "container" if quoted and kind == "shell" and rest.strip().startswith(('"', "'")) else kind
        yield from (Assignment(m[1], _value(m), kind, index) for m in found)
        return
    openers = [*_EXPORT.finditer(line)] if "export" in line or "declare" in line else []
    if "env" in line:
        openers += _ENV.finditer(line)
    for opener in openers:
        inner = _run(line, opener.end())
        yield from (Assignment(m[1], _value(m), "job", index) for m in inner)


def _run(line: str, position: int) -> list[re.Match[str]]:
    """Return the assignments that follow each other from `position` on."""
    found: list[re.Match[str]] = []
    match = _ONE.match(line, position)
    while match:
        found.append(match)
        match = _NEXT.match(line, match.end()) if line.startswith((" ", "\t", ",", ";", "("), match.end()) else None
    return found


def _systemd(text: str) -> Iterator[re.Match[str]]:
    for match in re.finditer(rf"\"({NAME})=([^\"]*)\"|'({NAME})=([^']*)'|({NAME})=(\S*)", text):
        plain = next(m for m in (match[1], match[3], match[5]) if m)
        value = next((m for m in (match[2], match[4], match[6]) if m is not None), "")
        one = _ONE.match(f'{plain}="{value}"')
        if one:
            yield one


def _dump(lines: tuple[str, ...], index: int) -> bool:
    """Return whether the line stands in a list of variables, as `env` prints it, so that its value may hold blanks."""
    around = [i for i in range(index - 2, index + 3) if 0 <= i < len(lines) and i != index]
    return sum(bool(_ANY.match(lines[i][:200])) for i in around) > 1


def _value(match: re.Match[str]) -> str:
    value = next((g for g in match.groups()[1:] if g is not None), "")
    return re.sub(r"^([0-9]+)\.$", r"\1", value.rstrip(",\\"))[:4096]


def _unquoted(text: str) -> str:
    text = text.split(" #")[0].strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text
