"""The models on a host's disk against their manifests: sizes, and what was touched since it was proved.

No content is read: that takes minutes. `qops-model verify` on the host reads all of it.
"""

import json
from collections.abc import Sequence
from typing import Any

from msgspec import Struct, field

from qops.evidence.model import Models, Overlay, StoredModel
from qops.evidence.text import Quote, Text
from qops.pattern import lazy
from qops.probes.base import Command, Probe

LIST = "/etc/qops/models.list"  # a model on each line: its folder; then, of an overlay, definition and folder
MANIFEST, VERIFIED, OVERLAY = "qops-manifest.json", ".qops-verified", "qops-overlay.json"

SCRIPT = rf"""echo '== models'
[ -r {LIST} ] || exit 0
while read -r folder definition overlay; do
  case "$folder" in /*) ;; *) continue ;; esac
  echo "== model $folder"
  near=$folder; while [ ! -d "$near" ]; do near=$(dirname "$near"); done
  echo "free $(df -PB1 "$near" 2>/dev/null | awk 'END {{ print $4 }}')"
  [ -d "$folder.incoming" ] && echo "arrived $(du -sB1 "$folder.incoming" | cut -f 1)"
  if [ -d "$folder" ]; then
    [ -r "$folder/{MANIFEST}" ] && echo "manifest $(tr -d '\n' <"$folder/{MANIFEST}")"
    find "$folder" -type f -printf 'file %s %C@ %T@ %P\n'
  fi
  [ -n "$overlay" ] || continue
  echo "== overlay $definition $overlay"
  [ -r "$overlay/{OVERLAY}" ] || continue
  echo "manifest $(tr -d '\n' <"$overlay/{OVERLAY}")"
  echo "broken $(find "$overlay" -xtype l | wc -l)"
  find "$overlay" -type f -printf 'file %s %C@ %T@ %P\n'
done <{LIST}
"""

_HEAD = "== models"
_MODEL = lazy(r"== model (/.{1,1000})$")
_OVERLAY = lazy(r"== overlay (\S{1,100}) (/.{1,1000})$")
_FILE = lazy(r"file ([0-9]{1,18}) ([0-9.]{1,40}) ([0-9.]{1,40}) (.{1,1000})$")
_NUMBER = lazy(r"(free|arrived|broken) ([0-9]{1,18})\s*$")


class _Folder(Struct):
    """What was printed of one folder. Times in nanoseconds since 1970."""

    path: str
    quote: Quote
    wanted: str = ""
    manifest: dict[str, Any] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    changed: dict[str, int] = field(default_factory=dict)
    written: dict[str, int] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    overlay: "_Folder | None" = None


def recognise(text: Text) -> bool:
    """Return whether `text` is the answer of this probe's script."""
    return any(line.rstrip() == _HEAD for line in text.lines)


def parse(texts: Sequence[Text]) -> Models | None:
    """Return what the first such text says."""
    for text in texts:
        for index, line in enumerate(text.lines):
            if line.rstrip() == _HEAD:
                return Models(tuple(_model(f) for f in _folders(text, index + 1)), text.quote(index))
    return None


def _folders(text: Text, first: int) -> list[_Folder]:
    found: list[_Folder] = []
    current: _Folder | None = None
    for index in range(first, len(text.lines)):
        line = text.lines[index]
        if match := _MODEL.match(line):
            current = _Folder(match[1], text.quote(index))
            found.append(current)
        elif found and (match := _OVERLAY.match(line)):
            current = found[-1].overlay = _Folder(match[2], text.quote(index), wanted=match[1])
        elif current is None:
            continue
        elif match := _FILE.match(line):
            current.sizes[match[4]] = int(match[1])
            current.changed[match[4]] = _nanoseconds(match[2])
            current.written[match[4]] = _nanoseconds(match[3])
        elif match := _NUMBER.match(line):
            current.numbers[match[1]] = int(match[2])
        elif line.startswith("manifest {"):
            current.manifest = _object(line.removeprefix("manifest "))
    return found


def _nanoseconds(seconds: str) -> int:
    whole, _, part = seconds.partition(".")
    part = part[:9]
    return int(whole + part.ljust(9, "0")) if whole.isdigit() and (part + "0").isdigit() else 0


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _model(seen: _Folder) -> StoredModel:
    files = _sizes(seen.manifest.get("files"))
    proved_at = seen.written.get(VERIFIED, 0)
    there = [path for path in files if path in seen.sizes]
    return StoredModel(
        folder=seen.path,
        quote=seen.quote,
        repo=str(seen.manifest.get("repo", ""))[:300],
        revision=str(seen.manifest.get("revision", ""))[:100],
        include=_words(seen.manifest.get("include")),
        exclude=_words(seen.manifest.get("exclude")),
        files=len(files),
        size=sum(files.values()),
        missing=tuple(path for path in files if path not in seen.sizes),
        wrong_size=tuple(path for path in there if seen.sizes[path] != files[path]),
        proved=bool(proved_at),
        touched=tuple(path for path in there if proved_at and seen.changed[path] > proved_at),
        arrived=seen.numbers.get("arrived", 0),
        free=seen.numbers.get("free"),
        overlay=_overlay(seen.overlay) if seen.overlay else None,
    )


def _overlay(seen: _Folder) -> Overlay:
    made_at = seen.written.get(OVERLAY, 0)
    return Overlay(
        folder=seen.path,
        quote=seen.quote,
        wanted=seen.wanted,
        definition=str(seen.manifest.get("definition", ""))[:100],
        broken=seen.numbers.get("broken", 0),
        touched=tuple(path for path, at in seen.changed.items() if path != OVERLAY and at > made_at),
    )


def _sizes(rows: object) -> dict[str, int]:
    found: dict[str, int] = {}
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict) and isinstance(row.get("path"), str) and type(row.get("size")) is int:
            found[row["path"]] = row["size"]
    return found


def _words(value: object) -> tuple[str, ...]:
    return tuple(str(word) for word in value) if isinstance(value, list) else ()


PROBE = Probe(
    name="models",
    makes=Models,
    parse=parse,
    recognise=recognise,
    asks=(
        Command(
            ("sh", "-c", SCRIPT),
            "whether the models that were put on the host are whole, and untouched since they were proved",
            timeout=20.0,
            root=True,
            name="models",
        ),
    ),
    families=("serve",),
)
