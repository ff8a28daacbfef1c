"""The boot loader's configuration, and the kernel options of the next boot."""

from collections.abc import Sequence

from qops.evidence.boot import BootLoader, BootSetting
from qops.evidence.text import Quote, Text
from qops.pattern import lazy
from qops.probes.base import Command, Probe

# GRUB on the Debian family: update-grub reads /etc/default/grub and grub.d/*.cfg. The Red Hat family keeps one entry
# for each kernel, which grubby edits. The first `linux` line of grub.cfg is the default entry's.
SCRIPT = r"""PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
echo '== boot loader'
[ -e /etc/dgx-release ] && echo 'owner dgx'
for f in /etc/default/grub /etc/default/grub.d/*.cfg; do
  [ -r "$f" ] && sed -n "s|^[[:space:]]*\(GRUB_CMDLINE_LINUX[A-Z_]*=.*\)|setting $f \1|p" "$f"
done
if command -v update-grub >/dev/null; then
  echo 'tool update-grub'
  sed -n 's/^[[:space:]]*linux[[:space:]]\{1,\}[^[:space:]]*/next/p' /boot/grub/grub.cfg 2>/dev/null | head -n 1
elif command -v grubby >/dev/null; then
  echo 'tool grubby'
  grubby --info=DEFAULT 2>/dev/null | sed -n 's/^args="\(.*\)"$/next \1/p' | head -n 1
fi
true
"""

_HEADER = "== boot loader"
_SETTING = lazy(r"setting (/etc/default/grub\S{0,200}) GRUB_CMDLINE_LINUX(?:_[A-Z]+)?=(.{0,4000})$")
_OPTION = lazy(r"[^\s\"'$]+(?:\"[^\"]*\")?")


def recognise(text: Text) -> bool:
    """Return whether `text` is this probe's answer."""
    return any(line.startswith(_HEADER) for line in text.lines)


def parse(texts: Sequence[Text]) -> BootLoader | None:
    """Return what the last such answer says."""
    for text in texts:
        for index, line in enumerate(text.lines):
            if line.startswith(_HEADER):
                return _read(text.lines[index + 1 :], text.quote(index))
    return None


def _read(lines: Sequence[str], quote: Quote) -> BootLoader:
    tool, vendor = "", False
    upcoming: tuple[str, ...] | None = None
    settings: list[BootSetting] = []
    for line in lines:
        if line.startswith("=="):
            break
        word, _, rest = line.partition(" ")
        if word == "owner":
            vendor = rest.strip() == "dgx"
        elif word == "tool":
            tool = rest.strip()
        elif word == "next" and upcoming is None:
            upcoming = tuple(rest.split())
        elif found := _SETTING.match(line):
            words = (w for w in _OPTION.findall(found[2]) if not w.startswith(("GRUB_CMDLINE", "{")))
            settings.append(BootSetting(found[1], tuple(words)))
    return BootLoader(tool, quote, upcoming, tuple(settings), vendor)


PROBE = Probe(
    name="boot_loader",
    makes=BootLoader,
    parse=parse,
    recognise=recognise,
    asks=(
        Command(
            ("sh", "-c", SCRIPT),
            "the kernel options of the next boot, and who writes them",
            root=True,
            name="boot loader",
        ),
    ),
    families=("host",),
)
