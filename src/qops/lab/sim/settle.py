"""The kernel's part in a write to the tree: a choice shows its brackets, a wrong value is not taken.

The redirected files are plain files, so a role's write leaves what it wrote. `settle` puts them in the
form that a kernel would show. It runs at boot and, with `--watch`, all the time, and then has the GID tables follow
the addresses of their interfaces.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from . import hardware, netdevs, store, sysfs
from .tree import Tree

_CHOICES = {
    "sys/kernel/mm/transparent_hugepage/enabled": sysfs.THP_ENABLED,
    "sys/kernel/mm/transparent_hugepage/defrag": sysfs.THP_DEFRAG,
}
FRESH = 0.3  # seconds in which a file may be in the middle of a write


def _whole(text: str) -> bool:
    return bool(text) and all(part.lstrip("-").isdigit() for part in text.split())


def write(tree: Tree, path: Path, value: str) -> bool:
    """Write a value as the kernel would take it; return false where it would refuse."""
    name = str(path.relative_to(tree.root))
    if name in _CHOICES:
        if value not in _CHOICES[name]:
            return False
        path.write_text(sysfs.choice(_CHOICES[name], value) + "\n", encoding="utf-8")
        return True
    if path.name == "scaling_governor":
        known = (path.parent / "scaling_available_governors").read_text(encoding="utf-8").split()
        if value not in known:
            return False
    elif name.startswith("proc/sys/") and _whole(path.read_text(encoding="utf-8").strip()) and not _whole(value):
        # A key that holds a number takes none but a number.
        return False
    path.write_text(value + "\n", encoding="utf-8")
    return True


def settle(tree: Tree) -> None:
    """Put written choices in the kernel's form; a value that is none of them goes back to the last in brackets."""
    for name, values in _CHOICES.items():
        path = tree.root / name
        try:
            text = path.read_text(encoding="utf-8").strip()
            fresh = time.time() - path.stat().st_mtime < FRESH
        except OSError:
            continue
        if not text and fresh:
            continue  # a shell's `>` empties a file before it writes
        if "[" not in text:
            remembered = store.read_line(store.var() / "settled" / path.name) or values[1]
            store.write_text(path, sysfs.choice(values, text if text in values else remembered) + "\n")
            text = text if text in values else remembered
        else:
            text = text[text.index("[") + 1 : text.index("]")]
        if store.read_line(store.var() / "settled" / path.name) != text:
            store.write_text(store.var() / "settled" / path.name, text + "\n")


def main(arguments: Sequence[str]) -> int:
    """Settle once, or with `--watch` every fifth of a second."""
    tree = Tree(store.root())
    settle(tree)
    here = hardware.load()
    addresses: dict[str, str] = {}
    while "--watch" in arguments:
        time.sleep(0.2)
        settle(tree)
        if here is not None:
            netdevs.follow(tree, here.nics, addresses)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
