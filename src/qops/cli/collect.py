"""`qops collect`: the evidence of this host, or of others, as redacted bundles."""

import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from qops.cli import options
from qops.errors import HEALTHY, INTERRUPTED, UNREACHABLE, BundleError, UsageError

if TYPE_CHECKING:
    from qops.inventory import Host
    from qops.probes.base import Probe
    from qops.redaction import Redactor

EXAMPLES = """
\b
Examples:
  sudo qops collect -o $(hostname).tar.gz    this host; then: qops diagnose --from FILE
  qops collect -i hosts.yml -o job.tar.gz    all hosts in one bundle, with the same mark for the same secret
  qops collect -i hosts.yml -l spark -o out/ a bundle for each host in out/
  qops collect --redact-again old.tar.gz -o new.tar.gz
"""
_PACKED = (".tar.gz", ".tgz")


@click.command(epilog=EXAMPLES)
@click.argument("family", type=click.Choice([*options.FAMILIES, "all"]), default="all")
@options.fleet
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    required=True,
    help="The bundle to write (tar.gz), of one or of many hosts; a folder for one bundle each.",
)
@click.option(
    "--seconds", type=click.FloatRange(1, 600), default=options.SECONDS, show_default=True, help="Time to look."
)
@click.option("--map", "map_", metavar="FILE", help="Write what stands for which secret to FILE, for its owner's eyes.")
@click.option(
    "--redact-again", metavar="BUNDLE", help="Take secrets out of a bundle that was made before; asks no host."
)
@click.option("-q", "--quiet", is_flag=True, help="Say nothing when it went well.")
def collect(
    family: str,
    inventory: str | None,
    limit: str | None,
    output: str,
    seconds: float,
    map_: str | None,
    redact_again: str | None,
    quiet: bool,
) -> int:
    """Record the evidence of this host or of others to bundles, with tokens, keys and passwords removed.

    A bundle holds what each command answered, and in redaction.json what was replaced where. Look at it before you
    pass it on: `tar tzf FILE`.
    """
    from qops import probes
    from qops.redaction import Redactor

    if redact_again and inventory:
        raise UsageError("--redact-again asks no host", "leave out -i")
    redact = Redactor()
    if map_:
        _writable(map_)
    if redact_again:
        status = _again(redact_again, output, redact, quiet=quiet)
    else:
        known = [p for p in probes.ALL if (p.families if family == "all" else family in p.families)]
        if hosts := options.hosts(inventory, limit):
            status = _others(hosts, known, output, redact, seconds=seconds, quiet=quiet)
        else:
            status = _here(known, output, redact, seconds=seconds, quiet=quiet)
    if map_:
        _write_map(map_, redact)
    return status


def _here(known: "Sequence[Probe]", output: str, redact: "Redactor", *, seconds: float, quiet: bool) -> int:
    from qops.cli.looking import look
    from qops.transports import bundle_again

    if Path(output).is_dir():
        raise UsageError(f"{output} is a folder", f"name a file: -o {Path(output, 'host.tar.gz')}")
    found = look(known, what="recording this host", seconds=seconds, output=output, alike=redact, quiet=quiet)
    bundle_again.settle([Path(output)], redact)
    return INTERRUPTED if found.interrupted else HEALTHY


def _again(source: str, output: str, redact: "Redactor", *, quiet: bool) -> int:
    """Redact a bundle once more, and say what was found that was not before."""
    from qops.transports import bundle_again

    if not Path(source).is_file():
        raise UsageError(f"there is no bundle {source}", "--redact-again takes a file that `qops collect` wrote")
    bundle_again.again(Path(source), Path(output), redact)
    for (where, kind), count in sorted(redact.places.items()):
        sys.stdout.write(f"{where or 'index.json'}: {count} × {kind}\n")
    if not quiet:
        click.echo(f"wrote {output}: {sum(redact.places.values()) or 'no more'} secrets replaced", err=True)
    return HEALTHY


def _others(
    hosts: "Sequence[Host]",
    known: "Sequence[Probe]",
    output: str,
    redact: "Redactor",
    *,
    seconds: float,
    quiet: bool,
) -> int:
    """Record each of `hosts`; what could not be reached is said, and makes the exit status."""
    from qops.cli import fleet
    from qops.transports import bundle_again

    with _places(hosts, output) as places:
        looked, interrupted = fleet.look(
            hosts,
            known,
            lambda found, lost, written: f"{written}; {lost}" if lost else written,
            what=f"recording {hosts[0].name if len(hosts) == 1 else f'{len(hosts)} hosts'} for {seconds:.0f} s",
            seconds=seconds,
            output=lambda host: str(places[host.name]),
            alike=redact,
            quiet=quiet,
        )
        written = {path.name: path for path in places.values() if path.is_file()}
        bundle_again.settle(tuple(written.values()), redact)
        together = len(hosts) > 1 and output.endswith(_PACKED)
        if together and written:
            bundle_again.pack(written, Path(output))
    for one in looked:
        if one.error is not None:
            click.echo(f"not reached: {one.error.message}; try: {one.error.hint}", err=True)
        elif not quiet:
            told = one.result or f"{one.host.name}: interrupted before it answered"
            inside = f"{one.host.name} to {output}"
            click.echo(told.replace(str(places[one.host.name]), inside) if together else told, err=True)
    if together and not quiet:
        click.echo(f"{output} has {len(written)} of {len(hosts)} hosts" if written else "no host answered", err=True)
    if interrupted:
        return INTERRUPTED
    return UNREACHABLE if any(one.error is not None for one in looked) else HEALTHY


@contextmanager
def _places(hosts: "Sequence[Host]", output: str) -> Iterator[dict[str, Path]]:
    """Yield where each host's bundle is written: in a folder, in one that goes away when all is in one bundle."""
    path = Path(output)
    try:
        if len(hosts) == 1 and not path.is_dir() and not output.endswith("/"):
            yield {hosts[0].name: path}
        elif output.endswith(_PACKED):
            with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as folder:
                yield _names(hosts, Path(folder))
        else:
            if path.is_file():
                raise UsageError(f"{output} is a file", "name a folder, or a bundle for all: -o bundles.tar.gz")
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
            yield _names(hosts, path)
    except OSError as error:
        raise BundleError(f"cannot make {output}: {error.strerror}") from None


def _names(hosts: "Sequence[Host]", folder: Path) -> dict[str, Path]:
    """Return a file for each host. Two names that differ only in what a file's name cannot hold get a number."""
    found: dict[str, Path] = {}
    for host in hosts:
        stem = re.sub(r"[^A-Za-z0-9_.-]", "_", host.name).lstrip(".")
        number = sum(path.name.startswith(f"{stem}.tar") or path.name.startswith(f"{stem}~") for path in found.values())
        found[host.name] = folder / (f"{stem}~{number}.tar.gz" if number else f"{stem}.tar.gz")
    return found


def _writable(name: str) -> None:
    """Refuse a map that cannot be written before hosts are asked, and one that is there: it may be of other bundles."""
    path = Path(name)
    if path.exists():
        raise UsageError(f"{name} is there already", "name a new file for the map")
    if not os.access(path.parent, os.W_OK):
        raise UsageError(f"cannot write {name}", "name a file in a folder that you can write")


def _write_map(name: str, redact: "Redactor") -> None:
    try:
        number = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise UsageError(f"cannot write {name}: {error.strerror}", "the bundles are written") from None
    with os.fdopen(number, "w", encoding="utf-8") as file:
        json.dump(redact.secrets, file, indent=1, ensure_ascii=False)
        file.write("\n")
