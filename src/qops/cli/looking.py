"""Looking at a host: collecting its evidence with a line of progress, and saving it when asked."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import click

from qops.cli.progress import Line
from qops.collection import Collection, Progress, collect
from qops.probes.base import Probe
from qops.redaction import Redactor
from qops.transports.base import Transport
from qops.transports.bundle_writer import Writer
from qops.transports.local import Local


def look(
    known: Sequence[Probe],
    *,
    what: str,
    seconds: float,
    output: str | None = None,
    alike: Redactor | None = None,
    quiet: bool = False,
) -> Collection:
    """Ask this host for `seconds`, and write what it answers to the bundle `output` without its secrets.

    These get marks like those of `alike`.

    Raises BundleError when the bundle cannot be written.
    """
    with Line(f"{what} for {seconds:.0f} s", quiet=quiet) as line:
        collection, written = ask(Local(), known, seconds=seconds, output=output, alike=alike, progress=line.update)
    if written and not quiet:
        click.echo(written, err=True)
    return collection


def ask(
    host: Transport,
    known: Sequence[Probe],
    *,
    seconds: float,
    output: str | None,
    progress: Progress,
    alike: Redactor | None = None,
) -> tuple[Collection, str]:
    """Ask `host` for `seconds`: what it answers, and a line on the bundle `output` when that is given.

    Raises BundleError when the bundle cannot be written, and TransportError when the host cannot be reached.
    """
    if output is None:
        return collect(host, known, seconds=seconds, progress=progress), ""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    redact = Redactor(alike=alike)
    with Writer(Path(output), host=host.name, collected_at=now, redactor=redact) as writer:
        collection = collect(host, known, seconds=seconds, progress=progress, record=writer.add)
        writer.interrupted, writer.clock = collection.interrupted, collection.clock
    return collection, _written(output, collection, redact)


def _written(output: str, collection: Collection, redact: Redactor) -> str:
    counts = ", ".join(f"{n} × {kind}" for kind, n in sorted(redact.counts.items()))
    gaps = f", {len(collection.gaps)} not" if collection.gaps else ""
    return (
        f"wrote {output}: {len(collection.texts)} questions answered{gaps}; "
        f"secrets replaced: {counts or 'none were found'}"
    )
