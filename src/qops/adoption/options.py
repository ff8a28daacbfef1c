"""What the options of `docker run` say of an engine; compose files and `docker inspect` are put into the same words."""

import re
from collections.abc import Sequence

from qops.adoption import expansion
from qops.adoption.found import Found, Reader, Volume, shown
from qops.adoption.reasons import OF_CONTAINERS, OTHER_CONTAINER
from qops.flags.shell import Word

Option = tuple[str, Word]
_VARIABLE = re.compile(r"[A-Za-z_]\w*")
_CDI = "nvidia.com/gpu="
_NVIDIA = re.compile(r"/dev/nvidia(\d+)?")
UNREAD = "it could not be read: add its variables, secrets apart"
_ACCESS = {"ro": False, "readonly": False, "rw": True}


def apply(found: Found, options: Sequence[Option], values: dict[str, str], read: Reader) -> None:
    """Take over what `options` say; `values` are the variables around the command, `read` reads files that it names."""
    for name, value in options:
        if name == "--name":
            found.name = value.text
        elif name == "--env":
            _variable(found, value, values)
        elif name == "--env-file":
            _file(found, value, values, read)
        elif name == "--publish":
            found.published.append(value)
        elif name == "--volume":
            _volume(found, value, values)
        elif name == "--mount":
            _mount(found, value, values)
        elif name == "--gpus":
            _gpus(found, value)
        elif name == "--device":
            _device(found, value)
        elif name == "--runtime" and value.text == "nvidia":
            found.visible = True
        elif name in ("--network", "--net"):
            found.network = value.text
            found.leave(value.line, shown(name, value.text), OF_CONTAINERS["network"])
        elif name != "--entrypoint":
            found.leave(value.line, shown(name, value.text), OF_CONTAINERS.get(name.lstrip("-"), OTHER_CONTAINER))


def _variable(found: Found, word: Word, values: dict[str, str]) -> None:
    name, sign, value = word.text.partition("=")
    if not _VARIABLE.fullmatch(name):
        found.leave(word.line, "--env", "that is no name of a variable")
    elif sign or name in values:
        found.set(name, value if sign else values[name], word.line)
    else:
        found.leave(word.line, f"--env {name}", "it has no value here; if the engine needs it, add it")


def _file(found: Found, word: Word, values: dict[str, str], read: Reader) -> None:
    content = read(beside(word.text, values))
    if content is None:
        found.leave(word.line, f"--env-file {word.text}", UNREAD)
        return
    for line in content.splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            _variable(found, Word(line.strip().removeprefix("export "), word.line), values)


def _volume(found: Found, word: Word, values: dict[str, str]) -> None:
    parts = word.text.split(":")
    if len(parts) not in (2, 3):
        found.leave(word.line, shown("--volume", word.text), "it names no folder of the host and no name of a volume")
        return
    access = parts[2].split(",") if len(parts) == 3 else []
    writable = all(_ACCESS.get(one, True) for one in access)
    if strange := [one for one in access if one not in _ACCESS]:
        found.leave(word.line, f"{parts[1]}: {','.join(strange)}", "only rw and ro are known")
    _add(found, Volume(parts[0], parts[1], writable, word.line), values)


def _mount(found: Found, word: Word, values: dict[str, str]) -> None:
    fields = dict(part.partition("=")[::2] for part in word.text.split(","))
    source, target = (next((fields[k] for k in keys if k in fields), "") for keys in (_SOURCE, _TARGET))
    if fields.get("type", "volume") != "bind" or not (source and target):
        kind = fields.get("type", "volume")
        found.leave(word.line, f"--mount {target}", f"type {kind} is none of the role's: give a folder of the host")
        return
    writable = "ro" not in fields and fields.get("readonly", "false") not in ("", "true", "1")
    _add(found, Volume(source, target, writable, word.line), values)


_SOURCE, _TARGET = ("src", "source"), ("dst", "destination", "target")


def _add(found: Found, volume: Volume, values: dict[str, str]) -> None:
    source = volume.source
    if source == "~" or source.startswith("~/"):
        source = values.get("HOME", "~") + source[1:]
        found.leave(volume.line, volume.source, f"taken as {source}, the home of whoever runs this")
    if source.startswith("."):
        source = f"{values.get('PWD', '')}/{source}"
    if not source.startswith("/") and not expansion.is_unset(source):
        inspect = f"docker volume inspect --format '{{{{.Mountpoint}}}}' {source}"
        found.leave(volume.line, f"volume {source} at {volume.target}", f"a named volume; its folder: {inspect}")
        return
    if volume.target == "/dev/shm":  # noqa: S108  # a path in the container
        found.leave(volume.line, f"volume {source}", OF_CONTAINERS["ipc"])
        return
    found.volumes.append(
        Volume(plain(source) if source.startswith("/") else source, volume.target, volume.writable, volume.line)
    )


def beside(path: str, values: dict[str, str]) -> str:
    """Return a path from the root on; one that is none lies beside the file that names it."""
    if path.startswith("~/"):
        path = values.get("HOME", "~") + path[1:]
    return path if path.startswith("/") else plain(f"{values.get('PWD', '')}/{path}")


def plain(path: str) -> str:
    """Return an absolute path without `.`, `..` and doubled slashes."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
    return "/" + "/".join(parts)


def _gpus(found: Found, word: Word) -> None:
    text = word.text.strip("\"'")
    devices = re.search(r"device=([^\"']+)", text)
    count = re.fullmatch(r"(?:count=)?(\d{1,3})", text)
    if text.split(",")[0] in ("all", "count=all", "count=-1"):
        found.gpus = ["all"]
    elif devices:
        found.gpus = [one.strip() for one in devices[1].split(",") if "=" not in one]
    elif count:
        found.gpus = [str(index) for index in range(int(count[1]))]
        found.leave(word.line, shown("--gpus", word.text), "docker picks the first ones, so these are named")
    else:
        found.leave(word.line, shown("--gpus", word.text), "which GPUs that are is not clear: give gpus")


def _device(found: Found, word: Word) -> None:
    path = word.text.split(":")[0]
    nvidia = _NVIDIA.match(path)
    if word.text.startswith(_CDI):
        found.gpus = [*(found.gpus or []), word.text.removeprefix(_CDI)]
    elif nvidia and nvidia[1]:
        found.gpus = [*(found.gpus or []), nvidia[1]]
    elif not nvidia:
        found.leave(word.line, shown("--device", word.text), "the role gives the engine its GPUs and no other device")
