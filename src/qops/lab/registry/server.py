"""The registry's container, and what a host needs to pull from it."""

import json
from collections.abc import Sequence
from pathlib import Path

from qops.lab.docker import Docker
from qops.lab.images import Base
from qops.lab.packages import definition, extras, service
from qops.lab.packages.service import Service
from qops.lab.place import Place, Say
from qops.lab.registry import images

PORT = 5000
NAME = f"registry.{service.DOMAIN}:{PORT}"  # what stands before an image's name

_OFFSET = 2
_STORE = "/var/lib/registry"
_SETTINGS = "/etc/qops-lab/registry.yml"
_CONFIGURATION = f"""version: 0.1
log: {{level: warn}}
storage:
  filesystem: {{rootdirectory: {_STORE}}}
  delete: {{enabled: true}}
http:
  addr: :{PORT}
"""


def up(docker: Docker, place: Place, bases: Sequence[Base], subnet: str, say: Say) -> None:
    """Bring the registry up from the extras of one of `bases`, the first unless it is up from another.

    What was pushed to it is lost when it is made anew.
    """
    source = _source()
    choices = [(one, service.digest(source, one)) for one in (_describe(base) for base in bases)]
    if any(service.current(docker, place, one, spec, subnet) for one, spec in choices):
        return
    name = service.create(docker, place, *choices[0], subnet)
    made = images.build(service.read(docker, name, f"{extras.TOOLS}/busybox"))
    files = {f"{_STORE}/{path}": content for path, content in images.stored(made).items()}
    files[_SETTINGS] = _CONFIGURATION.encode()
    files[service.OFFERS] = "".join(f"{NAME}/{one.name}:{one.tag}@{one.digest}\n" for one in made).encode()
    service.fill(docker, name, files)
    service.start(docker, place, choices[0][0], subnet)
    size = sum(len(content) for path, content in files.items() if path.endswith("/data"))
    say(f"registry: {len(made)} images, {size / 1e6:.1f} MB, at {NAME}")


def _describe(base: Base) -> Service:
    command = (f"{extras.TOOLS}/docker-registry", "serve", _SETTINGS)
    return Service("registry", extras.tag(base), command, f"http://{NAME}/", PORT, _OFFSET)


def daemon_json(before: bytes = b"") -> bytes:
    """Return a host's /etc/docker/daemon.json with the registry, which speaks plain HTTP, merged into it."""
    content = json.loads(before or b"{}")
    known = content.setdefault("insecure-registries", [])
    if NAME not in known:
        known.append(NAME)
    return (json.dumps(content, indent=4, sort_keys=True) + "\n").encode()


def _source() -> str:
    here = Path(__file__).parent
    made_by = [(path.name, path.read_bytes()) for path in here.glob("*.py")]
    return service.file_digest([*made_by, ("images", definition.content("images").encode())])
