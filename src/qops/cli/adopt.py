"""`qops adopt`: how a machine serves now, in the words of an inventory."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from qops.cli import options
from qops.errors import FAULT, HEALTHY, INCOMPLETE, INTERRUPTED, UNREACHABLE, UsageError

if TYPE_CHECKING:
    from qops.adoption import Adopted, Found

_LARGEST = 1_000_000  # bytes of a file
EXAMPLES = """
\b
Examples:
  qops adopt compose.yaml                        a compose file; .env beside it is read
  qops adopt /etc/systemd/system/vllm.service    a unit, with its drop-ins and the files that it names
  qops adopt start-vllm.sh --version 0.33.0      a script with docker run, or with vllm itself
  qops adopt                                     the engines that run on this host
  qops adopt -i inventory spark-1 > inventory/host_vars/spark-1/serving.yml
  docker inspect vllm | qops adopt -             what docker says of a container

\b
Exit status: 0 adopted, 1 the engine or the role refuses something as it is, 2 usage,
3 no engine runs there, or not all could be seen, 4 unreachable.
"""


@click.command(epilog=EXAMPLES)
@click.argument("given", metavar="[FILE... | HOST]", nargs=-1, type=click.Path(allow_dash=True))
@click.option("-i", "--inventory", metavar="FILE", help="Ask hosts of this Ansible inventory by SSH.")
@options.become
@click.option("--version", default="", metavar="RELEASE", help="The engine's release, where no image's tag says it.")
@options.form("yaml", "json")
@click.option("-q", "--quiet", is_flag=True, help="No line of progress.")
def adopt(given: tuple[str, ...], inventory: str | None, version: str, form: str, quiet: bool) -> int:
    """Read how a machine serves now, and write the inventory for it: inference_service_instances, for host_vars.

    FILE is a compose file, a systemd unit or quadlet, a script, or what `docker inspect` prints; `-` is stdin. With
    -i, HOST is a name or pattern of the inventory: its running engines are adopted; with neither, those of this host.

    Each option is checked for the engine's release. What is not taken over stands in comments, with the reason. Of
    secrets only the names are written. It only reads.
    """
    errors: dict[str, str] = {}
    seen = HEALTHY
    if given and inventory is None:
        found = [one for name in given for one in _of_file(name)]
        hosts, notes = {"": _adopted(found, version)}, dict[str, list[str]]()
    else:
        if len(given) > 1:
            raise UsageError("one host or pattern at a time", "such as 'spark-1,spark-2' or 'spark'")
        hosts, notes, errors, seen = _of_hosts(inventory, "".join(given), version, quiet=quiet)
    from qops.render import adoption as rendered

    if form == "json":
        sys.stdout.write(rendered.document(hosts, notes, errors))
    else:
        sys.stdout.write(rendered.text(hosts, notes))
        for host, error in errors.items():
            click.echo(f"{host}: {error}", err=True)
    if seen == INTERRUPTED:
        return seen
    if any(one.wrong for adopted in hosts.values() for one in adopted):
        return FAULT
    return UNREACHABLE if errors else seen


def _of_file(name: str) -> "list[Found]":
    from qops import adoption
    from qops.adoption.script import PATH
    from qops.transports.base import clean, decode

    path = Path(name)
    folder = (Path.cwd() if name == "-" else path.absolute().parent).resolve()
    source = "stdin" if name == "-" else name
    try:
        data = sys.stdin.buffer.read(_LARGEST + 1) if name == "-" else _bytes(path)
    except OSError as error:
        hint = "a host of an inventory needs -i INVENTORY" if isinstance(error, FileNotFoundError) else ""
        raise UsageError(f"cannot read {name}: {error.strerror or error}", hint) from error
    if len(data) > _LARGEST:
        raise UsageError(f"{name} has more than {_LARGEST // 1_000_000} MB", "name the file that starts the engine")
    text = clean(decode(data))
    if path.suffix in (".service", ".container"):
        text = _with_drop_ins(path.absolute(), text)
    # Where qops itself was started from says nothing of where the engine is.
    around = {key: value for key, value in os.environ.items() if key not in ("VIRTUAL_ENV", "CONDA_PREFIX")}
    found = adoption.read(text, source, {**around, "PATH": PATH, "PWD": str(folder)}, _file)
    if not found:
        hint = "it starts neither vLLM nor SGLang; name the compose file, the unit or the script that does"
        raise UsageError(f"no engine was found in {source}", hint)
    return found


def _with_drop_ins(path: Path, text: str) -> str:
    """Return a unit with its drop-ins, in the form in which `systemctl cat` prints them."""
    drop_ins = sorted(Path(f"{path}.d").glob("*.conf"))
    parts = [(path, text), *((one, _file(str(one)) or "") for one in drop_ins)]
    return "\n".join(f"# {place}\n{part}" for place, part in parts) if drop_ins else text


def _bytes(path: Path) -> bytes:
    if not path.is_file() and path.exists() and not path.is_fifo():
        raise UsageError(f"{path} is no file", "name the compose file, the unit or the script itself")
    with path.open("rb") as file:
        return file.read(_LARGEST + 1)


def _file(name: str) -> str | None:
    """Return the text of a file that another one names; None where it cannot be read."""
    from qops.transports.base import clean, decode

    try:
        data = _bytes(Path(name)) if Path(name).is_file() else None
    except OSError:
        return None
    return None if data is None or len(data) > _LARGEST else clean(decode(data))


def _of_hosts(
    inventory: str | None, pattern: str, version: str, *, quiet: bool
) -> "tuple[dict[str, list[Adopted]], dict[str, list[str]], dict[str, str], int]":
    """Return what was adopted, notes and errors of each host, and the status that says whether all was seen."""
    from qops import adoption
    from qops.adoption import host
    from qops.cli import each
    from qops.evidence.engine_sources import EngineSources
    from qops.probes.engine_sources import PROBE

    def of_one(seen: Mapping[type, Any], variables: Mapping[str, Any]) -> "tuple[list[Adopted], list[str], bool]":
        sources: EngineSources | None = seen.get(EngineSources)
        if sources is None:
            return [], ["what runs here could not be seen"], False
        try:
            running = host.read(sources)
        except UsageError as error:
            return [], [error.message], False
        adopted: list[Adopted] = []
        lost: list[str] = []
        for one in running.found:
            # One that cannot be said keeps nobody else from being adopted.
            try:
                adopted.append(adoption.adopt(one, {str(other.instance["name"]) for other in adopted}, version))
            except UsageError as error:
                lost.append(f"not adopted: {error.message}; {error.hint}")
        return adopted, [*running.notes, *lost], running.complete and not lost

    made, errors, interrupted = each.make([PROBE], of_one, inventory, pattern, also=(), quiet=quiet)
    hosts = {name: adopted for name, (adopted, _, _) in made.items()}
    notes = {name: told for name, (_, told, _) in made.items()}
    complete = all(adopted and whole for adopted, _, whole in made.values())
    return hosts, notes, errors, INTERRUPTED if interrupted else HEALTHY if complete else INCOMPLETE


def _adopted(found: "Sequence[Found]", version: str) -> "list[Adopted]":
    from qops import adoption

    made: list[Adopted] = []
    for one in found:
        made.append(adoption.adopt(one, {str(other.instance["name"]) for other in made}, version))
    return made
