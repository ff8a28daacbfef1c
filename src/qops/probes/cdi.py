"""The NVIDIA container toolkit: specifications for CDI, the kernel's device numbers, its units and repositories."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from qops.evidence.cdi import AptSource, Cdi, CdiNode, CdiSpec, CdiUnit
from qops.evidence.text import Quote, Text
from qops.pattern import lazy
from qops.probes.base import Command, Probe

# One shell. The specification of eight GPUs is 60 kB, most of it mounts; those of libraries other than libcuda tell
# nothing. A practice host shows its devices below QOPS_ROOT, as plain files, which have no numbers.
SCRIPT = r"""LC_ALL=C; export LC_ALL
echo '== container toolkit'
command -v nvidia-ctk >/dev/null && nvidia-ctk --version 2>/dev/null | head -n 1
for f in /etc/cdi/*.yaml /etc/cdi/*.json /var/run/cdi/*.yaml /var/run/cdi/*.json; do
  [ -f "$f" ] || continue
  echo "== cdi $f"
  case "$f" in *.json) wanted= ;; *) wanted='(cdiVersion|kind|name|path|major): |libcuda\.so\.|^ *- [a-zA-Z]+:' ;; esac
  head -c 2000000 "$f" | grep -nE "$wanted"
  echo '== end'
done
grep -E '^ *[0-9]+ nvidia' "${QOPS_ROOT:-}/proc/devices" 2>/dev/null | sed 's/^ */device /'
for f in "${QOPS_ROOT:-}"/dev/nvidia* "${QOPS_ROOT:-}"/dev/nvidia-caps/*; do
  [ -c "$f" ] && stat -c 'node %t %n' "$f"
done
if [ -d /run/systemd/system ]; then
  for unit in nvidia-cdi-refresh.path nvidia-cdi-refresh.service; do
    echo "unit $unit" $(systemctl show $unit -p LoadState -p ActiveState -p UnitFileState -p Result)
  done
fi
grep -nHE '^[[:space:]]*no-cgroups[[:space:]]*=[[:space:]]*true' /etc/nvidia-container-runtime/config.toml 2>/dev/null
grep -nHE '^[^#]*nvidia\.github\.io/(libnvidia-container|nvidia-docker|nvidia-container-runtime)' \
  /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources /etc/yum.repos.d/*.repo \
  2>/dev/null
true
"""

_HEAD = "== container toolkit"
_VERSION = lazy(r"NVIDIA Container Toolkit CLI version ([0-9][\w.\-]{0,40})\s*$")
_SPEC = lazy(r"== cdi (/\S{1,300})\s*$")
_NUMBERED = lazy(r"([0-9]{1,7}):(.*)$")
_DEVICE = lazy(r"device ([0-9]{1,7}) (nvidia[\w-]{0,60})\s*$")
_NODE = lazy(r"node ([0-9a-f]{1,8}) (?:\S{0,300}?)(/dev/nvidia[\w/-]{0,80})\s*$")
_UNIT = lazy(r"unit (nvidia-cdi-refresh\.(?:path|service)) (.{0,400})$")
_FILE_LINE = lazy(r"(/etc/[\w./\-+]{1,300}):([0-9]{1,7}):(.{0,2000})$")
_KEY = lazy(r"\s*(?:- )?(cdiVersion|kind|name|path|major): +[\"']?([\w./:+\-]{1,200})[\"']?\s*$")
_LIBCUDA = lazy(r"libcuda\.so\.([0-9]{1,4}\.[0-9.]{1,20})")
_NUMBER = lazy(r"[0-9]{1,7}")


def recognise(text: Text) -> bool:
    """Return whether `text` is the answer of this probe's script."""
    return any(line.startswith(_HEAD) for line in text.lines)


def parse(texts: Sequence[Text]) -> Cdi | None:
    """Return what the first such text says."""
    for text in texts:
        for index, line in enumerate(text.lines):
            if line.startswith(_HEAD):
                return _toolkit(text, index)
    return None


def _toolkit(text: Text, first: int) -> Cdi:
    version = ""
    specs: list[CdiSpec] = []
    majors: dict[str, int] = {}
    nodes: dict[str, int] = {}
    units: dict[str, CdiUnit] = {}
    sources: dict[str, AptSource] = {}
    no_cgroups: Quote | None = None
    index = first + 1
    while index < len(text.lines):
        line = text.lines[index]
        if match := _SPEC.match(line):
            lines = list(_spec_lines(text, index + 1))
            specs.append(_spec(match[1], lines))
            index += len(lines)
        elif match := _VERSION.match(line):
            version = match[1]
        elif match := _DEVICE.match(line):
            majors[match[2]] = int(match[1])
        elif match := _NODE.match(line):
            nodes[match[2]] = int(match[1], 16)
        elif match := _UNIT.match(line):
            units[match[1]] = _unit(match[2])
        elif match := _FILE_LINE.match(line):
            quote = Quote(match[1], int(match[2]), match[3].strip())
            if match[1].endswith(".toml"):
                no_cgroups = no_cgroups or quote
            else:
                sources.setdefault(match[1], AptSource(match[1], quote))
        index += 1
    return Cdi(version, tuple(specs), majors, nodes, units, no_cgroups, tuple(sources.values()), text.quote(first))


def _unit(words: str) -> CdiUnit:
    said = dict(word.split("=", 1) for word in words.split() if "=" in word)
    return CdiUnit(
        said.get("LoadState", ""), said.get("ActiveState", ""), said.get("UnitFileState", ""), said.get("Result", "")
    )


def _spec_lines(text: Text, start: int) -> Iterator[tuple[int, str]]:
    for line in text.lines[start:]:
        match = _NUMBERED.match(line)
        if match is None:
            return
        yield int(match[1]), match[2]


def _spec(path: str, lines: Sequence[tuple[int, str]]) -> CdiSpec:
    """Read what nvidia-ctk writes: YAML of one key a line, or JSON."""
    head = Quote(path, lines[0][0] if lines else 0, lines[0][1].strip()[:200] if lines else "")
    whole = "\n".join(line for _, line in lines)
    found = next(((n, m, line) for n, line in lines if (m := _LIBCUDA.search(line))), None)
    driver = found[1][1].rstrip(".") if found else ""
    cuda = Quote(path, found[0], found[2].strip()[:200]) if found else None
    if whole.lstrip().startswith("{"):
        return _json_spec(path, head, whole, driver, cuda)
    values = {"kind": "", "cdiVersion": ""}
    names: list[str] = []
    nodes: list[CdiNode] = []
    major: int | None = None  # of the list item at hand; keys may come in any order
    node: CdiNode | None = None
    for number, line in lines:
        if line.lstrip().startswith("- "):
            nodes += [node] if node else []
            major = node = None
        match = _KEY.match(line)
        if match is None:
            continue
        key, value = match[1], match[2]
        if key in values:
            values[key] = values[key] or value
        elif key == "name":
            names.append(value)
        elif key == "path" and value.startswith("/dev/"):
            node = CdiNode(value, Quote(path, number, line.strip()), major)
        elif key == "major" and _NUMBER.fullmatch(value):
            major = int(value)
            node = CdiNode(node.path, node.quote, major) if node else None
    nodes += [node] if node else []
    return CdiSpec(path, head, values["kind"], values["cdiVersion"], tuple(names), tuple(nodes), driver, cuda)


def _json_spec(path: str, head: Quote, whole: str, driver: str, cuda: Quote | None) -> CdiSpec:
    try:
        said = json.loads(whole)
    except (ValueError, RecursionError):
        return CdiSpec(path, head)
    if not isinstance(said, dict):
        return CdiSpec(path, head)
    devices = [one for one in _list(said.get("devices")) if isinstance(one, dict)]
    nodes = []
    for owner in (said, *devices):
        edits = owner.get("containerEdits")
        for node in _list(edits.get("deviceNodes") if isinstance(edits, dict) else None):
            if isinstance(node, dict) and isinstance(node.get("path"), str):
                major = node.get("major")
                nodes.append(CdiNode(node["path"][:200], head, major if type(major) is int else None))
    kind, version = (value if isinstance(value := said.get(key), str) else "" for key in ("kind", "cdiVersion"))
    names = tuple(str(one.get("name"))[:200] for one in devices)
    return CdiSpec(path, head, kind, version, names, tuple(nodes), driver, cuda)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


PROBE = Probe(
    name="cdi",
    makes=Cdi,
    parse=parse,
    recognise=recognise,
    asks=(
        Command(
            ("sh", "-c", SCRIPT),
            "which GPUs the container toolkit describes, and whether that is still so",
            name="container toolkit",
        ),
    ),
    families=("cuda", "host"),
)
