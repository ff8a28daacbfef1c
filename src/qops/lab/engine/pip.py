"""This machine's pip and its settings, for a pip that runs in a container."""

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from qops.lab.errors import LabError

# What says where packages come from. The rest of pip's settings (folders, cache, colours) is this machine's own.
_TAKEN = frozenset((
    "cert", "client-cert", "constraint", "default-timeout", "extra-index-url", "find-links", "index-url", "no-index",
    "prefer-binary", "proxy", "retries", "timeout", "trusted-host",
))  # fmt: skip
# Programs take these from the environment, pip too.
_ENVIRONMENT = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE")

_LINE = re.compile(r"(:env:|global|install|download|site|user)\.\.?([a-z-]+)=(.+)")


@dataclass(frozen=True, slots=True)
class Pip:
    """A pip package's folder, the environment that holds its settings, and the files that these name."""

    folder: Path
    environment: Mapping[str, str]
    files: tuple[Path, ...]


def here() -> Pip:
    """Return this machine's pip; LabError says how to bring one."""
    for python in (sys.executable, shutil.which("python3")):
        if python and (folder := _folder(python)):
            environment = {**_from_environment(os.environ), **settings(_listed(python))}
            return Pip(folder, environment, tuple(dict.fromkeys(files(environment.values()))))
    raise LabError("the engine is installed with pip, which is not here", "apt-get install python3-pip")


def settings(listed: str) -> dict[str, str]:
    """Return what `pip config list` prints as the variables that pip reads. The environment's come last, and win."""
    found: dict[str, str] = {}
    lines = [match for line in listed.splitlines() if (match := _LINE.fullmatch(line.strip()))]
    for match in sorted(lines, key=lambda one: (one[1] == ":env:", one[1] == "install")):
        try:
            value = ast.literal_eval(match[3])
        except (ValueError, SyntaxError):
            continue
        if match[2] in _TAKEN:
            found[f"PIP_{match[2].upper().replace('-', '_')}"] = " ".join(str(value).split())
    return found


def _folder(python: str) -> Path | None:
    code = "import os, pip; print(os.path.dirname(pip.__file__))"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return Path(done.stdout.strip()) if done.returncode == 0 else None


def _listed(python: str) -> str:
    command = [python, "-m", "pip", "config", "list"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def _from_environment(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: environment[name] for name in _ENVIRONMENT if environment.get(name)}


def files(values: Iterable[str]) -> Iterator[Path]:
    """Yield what settings name on this machine's disk: an index with the files beside it, wheels, certificates."""
    for value in values:
        for word in value.split():
            path = Path(unquote(urlsplit(word).path) if word.startswith("file:") else word)
            if not path.is_absolute() or not path.exists():
                continue
            # An index's pages link to files that lie beside them.
            beside = word.startswith("file:") and path.parent != Path("/")
            yield path.parent if beside else path
