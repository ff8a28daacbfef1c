"""What dpkg or rpm says is installed, half done and held."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from qops.evidence.packages import Package, Packages
from qops.evidence.text import Quote, Text
from qops.pattern import lazy
from qops.probes.base import Command, Probe

# rpm's time of installation tells which of several kernels is the newest. dnf is not asked: it takes a second, and
# its locks are a file. A Debian that has rpm as a tool has an empty rpm database, so dpkg comes first.
SCRIPT = r"""LC_ALL=C; export LC_ALL
if [ -e /var/lib/dpkg/status ]; then
  echo "== packages dpkg $(dpkg --print-architecture)"
  dpkg-query -W -f '${db:Status-Abbrev}|${Package}|${Version}|${Architecture}\n'
elif command -v rpm >/dev/null; then
  echo "== packages rpm $(uname -m)"
  for f in /etc/dnf/plugins/versionlock.list /etc/yum/pluginconf.d/versionlock.list; do
    [ -r "$f" ] && sed -n 's/^[[:space:]]*\([^#![:space:]][^[:space:]]*\).*/lock|\1/p' "$f"
  done
  rpm -qa --qf '%{INSTALLTIME}|%{NAME}|%|EPOCH?{%{EPOCH}:}|%{VERSION}-%{RELEASE}|%{ARCH}\n'
fi
"""

_HEAD = lazy(r"== packages (dpkg|rpm) ([\w-]{1,20})\s*$")
_DPKG = lazy(r"([uihrp])([ncHUFWti])([R ]?) *\|([a-z0-9][a-z0-9+.\-]{0,200})\|([\w.+~:\-]{0,200})\|([\w-]{1,20})\s*$")
_RPM = lazy(r"([0-9]{1,12})\|([\w+.\-]{1,200})\|([\w.+~^:\-]{1,200})\|([\w()]{1,20})\s*$")
_LOCK = lazy(r"lock\|(\S{1,300})\s*$")
_ANY = ("all", "noarch")


def recognise(text: Text) -> bool:
    """Return whether `text` is the answer of this probe's script."""
    return any(line.startswith("== packages ") and _HEAD.match(line) for line in text.lines)


def parse(texts: Sequence[Text]) -> Packages | None:
    """Return the packages of the first text that lists any."""
    for text in texts:
        for index, line in enumerate(text.lines):
            head = _HEAD.match(line) if line.startswith("== packages ") else None
            if head:
                rest = text.lines[index + 1 :]
                return (_dpkg if head[1] == "dpkg" else _rpm)(rest, head[2], text.quote(index))
    return None


def _dpkg(lines: Sequence[str], own: str, quote: Quote) -> Packages:
    found: dict[str, Package] = {}
    for line in lines:
        match = _DPKG.match(line)
        if match is None or match[2] == "n":
            continue
        wanted, status, error, name, version, architecture = match.groups()
        if name in found and architecture not in (own, *_ANY):
            continue
        whole = status == "i" and error != "R"
        found[name] = Package(name, "" if status == "c" else version, architecture, wanted == "h", whole)
    return Packages("dpkg", found, quote)


def _rpm(lines: Sequence[str], own: str, quote: Quote) -> Packages:
    locks = [match[1] for line in lines if (match := _LOCK.match(line))]
    found: dict[str, tuple[bool, int, Package]] = {}
    for line in lines:
        match = _RPM.match(line)
        if match is None or match[2] == "gpg-pubkey":
            continue
        name, version, architecture = match[2], match[3], match[4]
        entry = (architecture in (own, *_ANY), int(match[1]), Package(name, version, architecture))
        if name not in found or entry[:2] > found[name][:2]:
            found[name] = entry
    packages = {name: _locked(package, locks) for name, (_, _, package) in found.items()}
    return Packages("rpm", packages, quote)


def _locked(package: Package, locks: Sequence[str]) -> Package:
    epoch, colon, rest = package.version.rpartition(":")
    forms = (
        package.name,
        f"{package.name}-{rest}",
        f"{package.name}-{epoch if colon else '0'}:{rest}",
    )
    every = (*forms, *(f"{form}.{package.architecture}" for form in forms))
    # A name is the start of what a lock names; only then is the pattern, which costs more, tried.
    likely = (lock for lock in locks if lock.startswith(package.name) or "*" in lock or "?" in lock or "[" in lock)
    held = any(fnmatchcase(form, lock) for lock in likely for form in every)
    return Package(package.name, package.version, package.architecture, held) if held else package


PROBE = Probe(
    name="packages",
    makes=Packages,
    parse=parse,
    recognise=recognise,
    asks=(
        Command(
            ("sh", "-c", SCRIPT),
            "which packages are installed, half done and held",
            timeout=20.0,
            name="packages",
        ),
    ),
    families=("cuda", "host"),
)
