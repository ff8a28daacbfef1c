"""GRUB of a practice host: its configuration, and an `update-grub` whose options the next boot has."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from . import NOTICE, hardware, passthrough, store
from .hardware import Hardware

_DEFAULT = "etc/default/grub"
_CONFIG = "boot/grub/grub.cfg"
# As grub-mkconfig reads them: /etc/default/grub, then grub.d in the order of the names.
_READ = """
. "$1/etc/default/grub"
for f in "$1"/etc/default/grub.d/*.cfg; do [ -e "$f" ] && . "$f"; done
echo $GRUB_CMDLINE_LINUX $GRUB_CMDLINE_LINUX_DEFAULT
"""


def _own(here: Hardware) -> tuple[str, str]:
    """Return what GRUB itself puts on the scenario's command line, and the options that come after."""
    words = here.cmdline.split()
    count = next((n for n, word in enumerate(words, 1) if word == "ro"), len(words))
    return " ".join(words[:count]), " ".join(words[count:])


def _write(system: Path, line: str) -> None:
    image, _, options = line.removeprefix("BOOT_IMAGE=").partition(" ")
    store.write_text(system / _CONFIG, f"# {NOTICE}\nmenuentry 'Debian GNU/Linux' {{\n\tlinux\t{image} {options}\n}}\n")


def lay_out(here: Hardware, system: Path) -> None:
    """Write the configuration that an installer leaves, where a host has none yet."""
    if (system / _DEFAULT).exists():
        return
    _, options = _own(here)
    store.write_text(
        system / _DEFAULT, f'GRUB_DEFAULT=0\nGRUB_CMDLINE_LINUX_DEFAULT=""\nGRUB_CMDLINE_LINUX="{options}"\n'
    )
    (system / _DEFAULT).with_suffix(".d").mkdir(exist_ok=True)
    _write(system, here.cmdline)


def update_grub(arguments: Sequence[str]) -> int:
    """Put the options of the configuration into grub.cfg; the next boot has them."""
    here = hardware.load()
    if here is None:
        return passthrough.real("update-grub", arguments)
    if {"-h", "--help"} & set(arguments):
        sys.stdout.write(f"{NOTICE}\nupdate-grub\n")
        return 0
    system = store.system()
    read = subprocess.run(["sh", "-c", _READ, "read", str(system)], capture_output=True, text=True, check=False)
    if read.returncode != 0:
        sys.stderr.write(read.stderr)
        return read.returncode
    own, _ = _own(here)
    line = f"{own} {read.stdout.strip()}".strip()
    _write(system, line)
    store.write_text(store.var() / "cmdline", line + "\n")
    sys.stderr.write("Generating grub configuration file ...\ndone\n")
    return 0
