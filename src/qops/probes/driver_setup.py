"""What the driver is built for, what keeps it from changing, and what its module was told."""

from collections.abc import Sequence

from qops.evidence.driver_setup import AptPin, DriverSetup, ModuleOption
from qops.evidence.text import Quote, Text
from qops.pattern import lazy
from qops.probes.base import Command, Probe

JOURNAL = "/var/lib/qops/nvidia_driver/journal.json"
UNITS = ("nvidia-persistenced.service", "nvidia-fabricmanager.service")

# One shell for all of it. The variable SecureBoot has four bytes of attributes before its value. A practice host shows
# its own firmware below QOPS_ROOT, and none of the machine's that it runs on.
SCRIPT = (
    r"""LC_ALL=C; export LC_ALL
r=${QOPS_ROOT:-}
echo '== driver setup'
k=$(cat "$r/proc/sys/kernel/osrelease" 2>/dev/null || uname -r)
echo "running kernel: $k"
for f in /boot/vmlinuz-* /usr/lib/modules/*/vmlinuz; do
  [ -e "$f" ] || continue
  f=${f#/boot/vmlinuz-}; f=${f#/usr/lib/modules/}
  echo "installed kernel: ${f%/vmlinuz}"
done
for f in /lib/modules/*/modules.dep; do
  grep -qE '(^|/)nvidia\.ko' "$f" 2>/dev/null || continue
  f=${f#/lib/modules/}
  echo "module for kernel: ${f%/modules.dep}"
done
sed -n 's/^\(nvidia[a-z_]*\|nouveau\) .*/loaded module: \1/p' "$r/proc/modules" 2>/dev/null
for i in "/boot/initrd.img-$k" "/boot/initramfs-$k.img"; do
  [ -e "$i" ] && [ /etc/modprobe.d/qops-nvidia.conf -nt "$i" ] && echo "stale initramfs: $i"
done
if [ -e /etc/dgx-release ]; then
  sed -n 's/^DGX_\(NAME\|SWBUILD_VERSION\|OTA_VERSION\)="*\([^"]*\)"*$/dgx \1: \2/p' /etc/dgx-release
  echo 'dgx: yes'
fi
if [ -d "$r/sys/firmware/efi" ]; then
  for f in "$r"/sys/firmware/efi/efivars/SecureBoot-*; do
    [ -r "$f" ] && echo "secure boot: $(od -An -tu1 -j4 -N1 "$f" | tr -d ' ')"
  done
else
  echo 'secure boot: 0'
fi
modinfo nvidia 2>/dev/null | sed -n 's/^\(version\|license\): */module on disk \1: /p'
[ -x /usr/bin/nvidia-uninstall ] && echo 'installed by: .run file'
grep -H '^[[:space:]]*options[[:space:]]*nvidia[[:space:]]' /etc/modprobe.d/*.conf 2>/dev/null | sed 's/^/option /'
for f in /etc/apt/preferences /etc/apt/preferences.d/*; do
  [ -f "$f" ] && awk -v f="$f" '
    function out() { if (p ~ /nvidia|cuda/) print "pin " f "|" p "|" v "|" o; p = v = o = "" }
    /^Package:/ { p = substr($0, 10) } /^Pin:/ { v = substr($0, 6) } /^Pin-Priority:/ { o = substr($0, 15) }
    /^[ \t]*$/ { out() } END { out() }' "$f"
done
if [ -x /usr/bin/unattended-upgrade ]; then
  echo 'unattended-upgrades: installed'
  apt-config dump Unattended-Upgrade::Package-Blacklist 2>/dev/null | sed -n 's/.*:: "\(.*\)";$/not upgraded: \1/p'
fi
if [ -d /run/systemd/system ]; then
  systemctl show -p Id -p LoadState -p ActiveState """
    + " ".join(UNITS)
    + r""" 2>/dev/null | awk -F= '
    { s[$1] = $2 }
    function out() {
      if (s["Id"]) print "unit " s["Id"] ": " (s["LoadState"] == "loaded" ? s["ActiveState"] : "absent")
      s["Id"] = ""
    }
    /^$/ { out() } END { out() }'
fi
[ -e """
    + JOURNAL
    + r""" ] && echo "unfinished: $(head -c 2000 """
    + JOURNAL
    + r""" | tr '\n' ' ')"
true
"""
)

_MARKER = "== driver setup"
_LINE = lazy(
    r"(running kernel|installed kernel|module for kernel|loaded module"
    r"|stale initramfs|dgx NAME|dgx SWBUILD_VERSION|dgx OTA_VERSION|dgx|secure boot"
    r"|module on disk version|module on disk license|installed by|unattended-upgrades|not upgraded|unfinished)"
    r": (\S.{0,2000}?)\s*$"
)
_UNIT = lazy(r"unit ([\w@.\-]{1,100}): (\w{1,20})\s*$")
_OPTION = lazy(r"option (/[^:\s]{1,200}):\s*options\s+nvidia\s+(\S.{0,2000})$")
_ASSIGNMENT = lazy(r"NVreg_(\w{1,80})=(\"[^\"]{0,2000}\"|[^\s\"]\S{0,2000})")
_PIN = lazy(r"pin (/[^|]{1,200})\| ?([^|]{0,500})\| ?([^|]{0,200})\| ?([^|]{0,20})$")


def recognise(text: Text) -> bool:
    """Return whether `text` is the answer of this probe's script."""
    return any(_MARKER in line for line in text.lines)


def parse(texts: Sequence[Text]) -> DriverSetup | None:
    """Return what the first answer says."""
    for text in texts:
        for index, line in enumerate(text.lines):
            if _MARKER in line:
                return _read(text, index)
    return None


def _read(text: Text, start: int) -> DriverSetup:
    said: dict[str, list[str]] = {}
    units: dict[str, str] = {}
    unit_quotes: dict[str, Quote] = {}
    options: list[ModuleOption] = []
    pins: list[AptPin] = []
    for index in range(start + 1, len(text.lines)):
        line = text.lines[index]
        if match := _LINE.match(line):
            said.setdefault(match[1], []).append(match[2])
        elif match := _UNIT.match(line):
            units[match[1]] = match[2]
            unit_quotes[match[1]] = text.quote(index)
        elif match := _OPTION.match(line):
            options += _options(match[2], text.quote(index))
        elif match := _PIN.match(line):
            pins.append(AptPin(match[1], match[2].strip(), match[3].strip(), match[4].strip()))

    def first(key: str) -> str:
        return said.get(key, [""])[0]

    ota = said.get("dgx OTA_VERSION", [""])[-1]  # each update appends its own

    running = first("running kernel")
    others = [k for k in said.get("installed kernel", []) if not k.startswith("0-rescue") and not k.endswith(".old")]
    secure = first("secure boot")
    return DriverSetup(
        kernel=running,
        kernels=tuple(dict.fromkeys([running, *others] if running else others)),
        kernels_with_module=tuple(said.get("module for kernel", [])),
        loaded=tuple(said.get("loaded module", [])),
        dgx=_dgx(first("dgx NAME"), ota or first("dgx SWBUILD_VERSION"), bool(first("dgx"))),
        secure_boot={"0": False, "1": True}.get(secure),
        disk_version=first("module on disk version"),
        disk_license=first("module on disk license"),
        run_file=bool(first("installed by")),
        options=tuple(options),
        pins=tuple(pins),
        kept_from_upgrades=tuple(said.get("not upgraded", [])) if "unattended-upgrades" in said else None,
        units=units,
        unit_quotes=unit_quotes,
        stale_initramfs=tuple(said.get("stale initramfs", [])),
        unfinished=first("unfinished"),
        quote=text.quote(start),
    )


def _dgx(name: str, version: str, there: bool) -> str:
    return " ".join(filter(None, (name or "DGX OS", version))) if there else ""


def _options(text: str, quote: Quote) -> list[ModuleOption]:
    return [ModuleOption(m[1], m[2].strip('"'), quote) for m in _ASSIGNMENT.finditer(text)]


PROBE = Probe(
    name="driver_setup",
    makes=DriverSetup,
    parse=parse,
    recognise=recognise,
    asks=(
        Command(
            ("sh", "-c", SCRIPT),
            "for which kernels the driver is to be there, its options, pins and daemons, Secure Boot, DGX OS",
            timeout=20.0,
            name="driver setup",
        ),
    ),
    families=("cuda", "host"),
)
