"""Whether a reboot is due, and what would be interrupted by it."""

from collections.abc import Sequence

from qops.evidence.readiness import Standing
from qops.evidence.text import Text
from qops.pattern import lazy
from qops.probes.base import Command, Probe

# Units that serve a model, by the names that people give them.
UNITS = ("qops-serve*", "vllm*", "sglang*", "ollama*", "llama*", "trtllm*", "triton*", "ray*")
# `sort -V` orders kernels as their packages do. needs-restarting is asked for its status alone: 1 is yes.
SCRIPT = (
    r"""LC_ALL=C; export LC_ALL
r=${QOPS_ROOT:-}
echo '== standing'
echo "running: $(cat "$r/proc/sys/kernel/osrelease" 2>/dev/null || uname -r)"
for f in /boot/vmlinuz-* /usr/lib/modules/*/vmlinuz; do
  [ -e "$f" ] || continue
  f=${f#/boot/vmlinuz-}; f=${f#/usr/lib/modules/}
  echo "${f%/vmlinuz}"
done | grep -v rescue | sort -rVu | sed 's/^/kernel: /'
if [ -e /run/reboot-required ]; then
  echo 'required:'
  [ -r /run/reboot-required.pkgs ] && sort -u /run/reboot-required.pkgs | head -n 20 | sed 's/^/required: /'
elif command -v needs-restarting >/dev/null; then
  timeout 8 needs-restarting -r >/dev/null 2>&1; [ $? = 1 ] && echo 'required:'
fi
sed -n 's/^btime /booted: /p' /proc/stat
sed 's/^/boot id: /' /proc/sys/kernel/random/boot_id 2>/dev/null
systemctl list-units --plain --no-legend --type=service --state=active,activating,reloading """
    + " ".join(f"'{unit}'" for unit in UNITS)
    + r""" 2>/dev/null | sed 's/^\([^ ]*\) .*/serving: \1/'
true
"""
)

_HEAD = "== standing"
_LINE = lazy(r"(running|kernel|required|booted|boot id|serving):\s*(\S{0,200})\s*$")


def parse(texts: Sequence[Text]) -> Standing | None:
    """Return what the first answer says."""
    for text in texts:
        for index, line in enumerate(text.lines):
            if line.startswith(_HEAD):
                return _read(text, index)
    return None


def _read(text: Text, begin: int) -> Standing:
    said: dict[str, list[str]] = {}
    for line in text.lines[begin + 1 :]:
        if found := _LINE.match(line):
            said.setdefault(found[1], []).append(found[2])
    required = said.get("required")
    booted = (said.get("booted") or ["0"])[0]
    return Standing(
        quote=text.quote(begin),
        running=(said.get("running") or [""])[0],
        kernels=tuple(said.get("kernel", ())),
        required=None if required is None else tuple(name for name in required if name),
        serving=tuple(said.get("serving", ())),
        booted=int(booted) if booted.isascii() and booted.isdigit() else 0,
        boot_id=(said.get("boot id") or [""])[0],
    )


PROBE = Probe(
    name="standing",
    makes=Standing,
    parse=parse,
    recognise=lambda text: any(line.startswith(_HEAD) for line in text.lines),
    asks=(
        Command(("sh", "-c", SCRIPT), "whether a reboot is due, and which engines run as services", name="standing"),
    ),
    families=("host",),
)
