"""The web server of a lab's package repository, one for each base that its hosts have."""

import gzip
import re
from collections.abc import Sequence
from pathlib import Path

from qops.lab.docker import Docker
from qops.lab.images import Base
from qops.lab.packages import definition, extras, repository, service, signing
from qops.lab.packages.service import Service
from qops.lab.place import Place, Say

ROOT = "/srv/packages"
VENDOR, DEBIAN = "cuda", "debian"  # the two repositories of a server

_OFFSETS = {"debian12": 3, "debian13": 4}
_DEFINITIONS = ("driver", "fabric", "toolkit", "system", "kernels")


def describe(base: Base, image: str) -> Service:
    """Return the server of a base, run from an image."""
    name = f"packages-{base.name}"
    command = ("/usr/bin/python3", "-u", "-m", "http.server", "80", "--directory", ROOT)
    return Service(name, image, command, f"http://{name}.{service.DOMAIN}/", 80, _OFFSETS[base.name])


def up(docker: Docker, place: Place, base: Base, kernels: Sequence[str], subnet: str, say: Say) -> None:
    """Bring the server of a base up; without Debian's packages where they could not be fetched."""
    complete = extras.present(docker, base)
    wanted = describe(base, extras.tag(base) if complete else base.tag)
    spec = service.digest(_source(), tuple(kernels), wanted, signing.public_key(place))
    if service.current(docker, place, wanted, spec, subnet):
        return
    name = service.create(docker, place, wanted, spec, subnet)
    files = repository.stand_ins(definition.packages(kernels))
    ready = {f"{ROOT}/{VENDOR}/{path}": content for path, content in _signed(place, files, "NVIDIA CUDA").items()}
    index = service.read(docker, name, f"{extras.FOLDER}/Packages") if complete else b""
    ready |= {f"{ROOT}/{DEBIAN}/{path}": one for path, one in _signed(place, {"Packages": index}, "Debian").items()}
    # Debian's archives stay where the image has them. All is in before the start: a start says that it is whole.
    archives = re.findall(r"^Filename: \./(\S+)$", index.decode(), re.MULTILINE)
    links = {f"{ROOT}/{DEBIAN}/{archive}": f"{extras.FOLDER}/{archive}" for archive in archives}
    service.fill(docker, name, ready, links)
    service.start(docker, place, wanted, subnet)
    size = sum(len(content) for content in files.values())
    say(f"{wanted.name}: {len(files) - 1} stand-in packages, {size / 1e6:.1f} MB, at {wanted.url}")


def _signed(place: Place, files: dict[str, bytes], label: str) -> dict[str, bytes]:
    indexes = {"Packages": files["Packages"], "Packages.gz": gzip.compress(files["Packages"], mtime=0)}
    signed = repository.release(indexes, label, lambda text: signing.clear_sign(place, text))
    return {**files, **indexes, "InRelease": signed}


def _source() -> str:
    """Return a digest of all that the stand-ins are made from."""
    here = Path(__file__).parent
    made_by = [(path.name, path.read_bytes()) for path in (*here.glob("*.py"), *(here / "files").iterdir())
               if path.is_file()]  # fmt: skip
    described = [(name, definition.content(name).encode()) for name in _DEFINITIONS]
    return service.file_digest([*made_by, *described])
