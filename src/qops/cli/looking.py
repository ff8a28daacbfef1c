"""Looking at this host: collecting its evidence with a line of progress, and saving it when asked."""

from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import click

from qops.cli.progress import Line
from qops.collection import Collection, collect
from qops.probes.base import Probe
from qops.redaction import Redactor
from qops.transports.bundle import Writer
from qops.transports.local import Local


def look(
    known: Sequence[Probe], *, what: str, seconds: float, output: str | None = None, quiet: bool = False
) -> Collection:
    """Ask this host for `seconds`, and write what it answers to the bundle `output` without its secrets.

    Raises BundleError when the bundle cannot be written.
    """
    host = Local()
    redact = Redactor()
    with ExitStack() as stack:
        line = stack.enter_context(Line(f"{what} for {seconds:.0f} s", quiet=quiet))
        if output is None:
            return collect(host, known, seconds=seconds, progress=line.update)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        writer = stack.enter_context(Writer(Path(output), host=host.name, collected_at=now, redactor=redact))
        collection = collect(host, known, seconds=seconds, progress=line.update, record=writer.add)
        writer.interrupted = collection.interrupted
    if not quiet:
        click.echo(_written(output, collection, redact), err=True)
    return collection


def _written(output: str, collection: Collection, redact: Redactor) -> str:
    counts = ", ".join(f"{n} × {kind}" for kind, n in sorted(redact.counts.items()))
    gaps = f", {len(collection.gaps)} not" if collection.gaps else ""
    return (
        f"wrote {output}: {len(collection.texts)} questions answered{gaps}; "
        f"secrets replaced: {counts or 'none were found'}"
    )
