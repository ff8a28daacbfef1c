"""Containers: what the engine says of them, and how people say they start them."""

from collections.abc import Sequence

from qops.errors import ParseError
from qops.evidence.container import Container, Containers
from qops.evidence.text import Text
from qops.probes import compose, container_commands, container_inspect
from qops.probes.base import Command, Probe

# All that run, and the last few that have ended: their exit code and OOMKilled say why. One call lists both.
SCRIPT = """for engine in docker podman; do
  command -v $engine >/dev/null || continue
  ids=$($engine ps -a --format '{{.ID}} {{.Status}}' 2>/dev/null |
    awk 'NR <= 10 || $2 ~ /^(Up|Restarting|Paused)/ { print $1 }')
  [ -n "$ids" ] && $engine inspect $ids 2>/dev/null
done
true
"""


def recognise(text: Text) -> bool:
    """Return whether `text` describes a container in any of the known ways."""
    return container_inspect.is_inspect(text) or container_commands.is_command(text) or compose.is_compose(text)


def parse(texts: Sequence[Text]) -> Containers | None:
    """Return every container described; raise ParseError when there is only JSON that cannot be read."""
    found: list[Container] = []
    failed: ParseError | None = None
    for text in texts:
        if container_inspect.is_inspect(text):
            try:
                found += container_inspect.containers(text)
            except ParseError as error:
                failed = failed or error
        if container_commands.is_command(text):
            found += container_commands.rows(text)
            found += container_commands.run_commands(text)
        if compose.is_compose(text):
            found += compose.services(text)
    if failed is not None and not found:
        raise failed
    asked = any(text.probe == PROBE.name and not any(line.strip() for line in text.lines) for text in texts)
    return Containers(tuple(found)) if found or asked else None


PROBE = Probe(
    name="containers",
    makes=Containers,
    parse=parse,
    recognise=recognise,
    asks=(
        Command(
            ("sh", "-c", SCRIPT),
            "shared memory, IPC, limits, devices and exit codes of containers",
            root=True,
            name="docker inspect",
        ),
    ),
    literals=("docker run", "podman run"),
)
