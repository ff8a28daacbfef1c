"""Container images: what the engine has, what the role inference_image wants there, and what it found in them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from qops.evidence.image import Compat, Image, Images, KeptImage, Look, WantedImage
from qops.evidence.text import Quote, Text
from qops.pattern import lazy
from qops.probes import elf
from qops.probes.base import Command, Probe

LIST = "/etc/qops/images.list"  # an image on each line: name, image, digest or "-", id or "-"
RECORD = "/var/lib/qops/images.json"

# Of an image's environment only these: others may hold secrets.
_VARIABLES = "CUDA_VERSION", "NVIDIA_REQUIRE_CUDA"
_FORM = (
    '{"id":{{json .Id}},"tags":{{json .RepoTags}},"digests":{{json .RepoDigests}},"size":{{.Size}},'
    '"architecture":{{json .Architecture}},"environment":[{{with .Config}}{{range .Env}}'
    '{{$name := index (split . "=") 0}}{{if eq $name '
    + " ".join(f'"{name}"' for name in _VARIABLES)
    + "}}{{json .}},{{end}}{{end}}{{end}}null]}"
)
_PODMAN = _FORM.replace(".Id}", ".ID}")  # its own name of the field
SCRIPT = rf"""LC_ALL=C; export LC_ALL
nl='
'
echo '== images'
echo "machine $(uname -m)"
[ -r {LIST} ] && sed 's/^/wanted /' {LIST}
[ -r {RECORD} ] && echo "record $(tr -d '\n' <{RECORD})"
for engine in docker podman; do
  command -v $engine >/dev/null || continue
  # podman-docker is a script
  if [ $engine = docker ] && read -r first <"$(command -v docker)"; then
    case $first in '#!'*) case "$(docker --version 2>/dev/null)" in *podman*) continue ;; esac ;; esac
  fi 2>/dev/null
  # podman takes the template for one of all images as soon as there is a `range` in it.
  form='image docker {_FORM}'
  [ $engine = docker ] || form='{{{{range .}}}}image podman {_PODMAN}{{{{"\n"}}}}{{{{end}}}}'
  said=$(timeout 8 $engine image ls --quiet --no-trunc 2>&1) || {{ echo "silent $engine ${{said%%$nl*}}"; continue; }}
  echo "engine $engine"
  ids=$(printf '%s\n' "$said" | grep -E '^(sha256:)?[0-9a-f]+$' | sort -u)  # without its warnings
  [ -n "$ids" ] && timeout 30 $engine image inspect --format "$form" $ids
done
true
"""

_HEAD = "== images"
_WANTED = lazy(r"wanted ([a-z0-9][a-z0-9.\-]{0,60}) (\S{1,400}) (-|sha256:[0-9a-f]{64}) (-|sha256:[0-9a-f]{64})\s*$")
_ENGINE = lazy(r"engine (docker|podman)\b")
_SILENT = lazy(r"silent (docker|podman) (.{0,500})$")
_IMAGE = lazy(r"image (docker|podman) (\{.{1,100000}\})\s*$")
_MACHINE = lazy(r"machine ([\w.-]{1,40})\s*$")


def recognise(text: Text) -> bool:
    """Return whether `text` is the answer of this probe's script."""
    return any(line.rstrip() == _HEAD for line in text.lines)


def parse(texts: Sequence[Text]) -> Images | None:
    """Return what the first such text says."""
    for text in texts:
        for index, line in enumerate(text.lines):
            if line.rstrip() == _HEAD:
                return _images(text, index)
    return None


def _images(text: Text, head: int) -> Images:
    engine = error = machine = ""
    images: list[Image] = []
    wanted: list[WantedImage] = []
    record: dict[str, Any] = {}
    for index in range(head + 1, len(text.lines)):
        line, quote = text.lines[index], text.quote(index)
        if match := _WANTED.match(line):
            name, image, digest, identity = (word if word != "-" else "" for word in match.groups())
            wanted.append(WantedImage(name, image, quote, digest, identity))
        elif match := _IMAGE.match(line):
            images += _image(match[1], _object(match[2]), quote)
        elif (match := _ENGINE.match(line)) and not engine:
            engine = match[1]
        elif match := _SILENT.match(line):
            error = f"{match[1]}: {match[2]}"
        elif match := _MACHINE.match(line):
            machine = match[1]
        elif line.startswith("record {"):
            record = _object(line.removeprefix("record "))
    return Images(
        engine=engine,
        error=error,
        machine=machine,
        images=tuple(images),
        wanted=tuple(wanted),
        kept={name: _kept(rows) for name, rows in _mapping(record.get("names")).items()},
        looked={local: look(said) for local, said in _mapping(record.get("looks")).items()},
        quote=text.quote(head),
    )


def _image(engine: str, said: Mapping[str, Any], quote: Quote) -> list[Image]:
    identity = said.get("id")
    if not isinstance(identity, str):
        return []
    environment = dict(str(one).partition("=")[::2] for one in _list(said.get("environment")) if one)
    size = said.get("size")
    return [
        Image(
            id=identity if ":" in identity else f"sha256:{identity}",  # podman leaves the hash's name out
            quote=Quote(quote.source, quote.line, quote.text[:300]),
            engine=engine,
            tags=tuple(str(tag) for tag in _list(said.get("tags"))),
            digests=tuple(str(digest) for digest in _list(said.get("digests"))),
            size=size if type(size) is int else 0,
            architecture=str(said.get("architecture") or ""),
            cuda=environment.get("CUDA_VERSION", "")[:40],
            requires=environment.get("NVIDIA_REQUIRE_CUDA", "")[:2000],
        )
    ]


def _kept(rows: object) -> tuple[KeptImage, ...]:
    return tuple(
        KeptImage(str(row.get("local", "")), str(row.get("digest", "")), str(row.get("id", "")))
        for row in _list(rows)
        if isinstance(row, dict)
    )


def look(said: object) -> Look:
    """Return what image_files.together said of an image, as evidence; what is not as it should be is left out."""
    compat = []
    for one in _list(_mapping(said).get("compat")):
        about = _mapping(one)
        note = elf.note_from_json(str(about.get("note", "")))
        compat.append(Compat(str(about.get("path", "")), str(about.get("version", "")), note.drivers if note else ()))
    kernels = _mapping(_mapping(said).get("kernels"))
    return Look(
        tuple(compat),
        {name: tuple(map(str, _list(targets))) for name, targets in kernels.items()},
        {name: str(version) for name, version in _mapping(_mapping(said).get("packages")).items()},
        {path: str(version) for path, version in _mapping(_mapping(said).get("drivers")).items()},
        tuple(map(str, _list(_mapping(said).get("stubs")))),
    )


def _object(text: str) -> dict[str, Any]:
    try:
        return dict(_mapping(json.loads(text)))
    except (ValueError, RecursionError):
        return {}


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


PROBE = Probe(
    name="images",
    makes=Images,
    parse=parse,
    recognise=recognise,
    asks=(
        Command(
            ("sh", "-c", SCRIPT),
            "which container images are there, whether those that are to be are, and which CUDA is in them",
            timeout=40.0,
            root=True,
            name="images",
        ),
    ),
    families=("cuda", "serve"),
)
