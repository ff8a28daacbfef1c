"""What a host's own configuration sets at boot: sysctl.d, tmpfiles.d and cpufrequtils, on the redirected tree."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from . import settle
from .tree import Tree

# In the order of systemd's search: a name in an earlier folder hides the same name in a later one.
_FOLDERS = ("etc", "run", "usr/local/lib", "usr/lib")


def _files(system: Path, kind: str) -> list[Path]:
    """Return the configuration files in the order in which systemd reads them: by name."""
    chosen: dict[str, Path] = {}
    for folder in _FOLDERS:
        for path in (system / folder / kind).glob("*.conf"):
            chosen.setdefault(path.name, path)
    return [chosen[name] for name in sorted(chosen)]


def _lines(path: Path) -> Iterator[str]:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:  # a link to /dev/null is how a file is masked; a broken one says nothing either
        return
    for line in text.split("\n"):
        line = line.strip()
        if line and line[0] not in "#;":
            yield line


def _write(tree: Tree, pattern: str, value: str) -> list[str]:
    """Write a value to every file that a pattern names; return what could not be written."""
    matches = sorted(str(path) for path in tree.root.glob(pattern.lstrip("/")))
    if not matches:
        return [f"Couldn't write '{value}' to '{pattern}': No such file or directory"]
    problems = []
    for match in matches:
        if not settle.write(tree, Path(match), value):
            problems.append(f"Couldn't write '{value}' to '{pattern}': Invalid argument")
    return problems


def sysctl(tree: Tree, system: Path) -> list[str]:
    """Apply sysctl.d as systemd-sysctl does; return what it would complain of."""
    values: dict[str, tuple[str, bool]] = {}
    for path in _files(system, "sysctl.d"):
        for line in _lines(path):
            key, equals, value = line.partition("=")
            quiet = key.startswith("-")
            key = key.lstrip("-").strip()
            if not equals:
                continue
            # The first separator decides which of the two is the folder's.
            slash = "/" in key and ("." not in key or key.index("/") < key.index("."))
            values["/proc/sys/" + (key if slash else key.replace(".", "/"))] = (value.strip(), quiet)
    problems: list[str] = []
    for target, (value, quiet) in values.items():
        found = _write(tree, target, value)
        problems += [] if quiet else found
    return problems


def tmpfiles(tree: Tree, system: Path) -> list[str]:
    """Apply the `w` lines of tmpfiles.d that reach /sys or /proc; return what failed."""
    problems: list[str] = []
    for path in _files(system, "tmpfiles.d"):
        for line in _lines(path):
            try:
                parts = shlex.split(line)
            except ValueError:
                continue
            if len(parts) < 7 or parts[0].rstrip("!-+") != "w" or not parts[1].startswith(("/sys/", "/proc/")):
                continue
            # systemd-tmpfiles passes over a target that does not exist.
            found = _write(tree, parts[1], " ".join(parts[6:]))
            problems += [problem for problem in found if "No such file" not in problem]
    return problems


def cpufrequtils(tree: Tree, system: Path) -> list[str]:
    """Apply GOVERNOR of /etc/default/cpufrequtils, as Debian's init script does."""
    for line in _lines(system / "etc/default/cpufrequtils"):
        name, _, value = line.partition("=")
        if name.strip() == "GOVERNOR" and value:
            return _write(tree, "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor", value.strip().strip('"'))
    return []


def apply(tree: Tree, system: Path) -> list[str]:
    """Apply everything; return the complaints, one a line."""
    return sysctl(tree, system) + tmpfiles(tree, system) + cpufrequtils(tree, system)
