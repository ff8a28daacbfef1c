"""The work of `qops watch`: one cheap look, its verdict, its metrics, and what was kept of the looks before."""

import json
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import click
from msgspec import structs

import qops
from qops import probes, ring
from qops.cli import output, suppressing
from qops.cli.progress import Line
from qops.cli.reporting import without_secrets
from qops.collection import Collection, collect
from qops.engine import judge, observe
from qops.errors import HEALTHY, INTERRUPTED, BundleError, QopsError, UsageError
from qops.probes.base import Command, Probe
from qops.recording import recorded
from qops.redaction import Redactor
from qops.render import prometheus, screen, text
from qops.report import HostReport, exit_status
from qops.rules import LISTED
from qops.transports.bundle_writer import Writer
from qops.transports.local import Local

SECONDS = 25.0  # for a look: nvidia-smi answers late on a host in trouble, and then that is the finding
# The probes whose answers cost little: a few files, and programs that read a few files. What walks all processes,
# asks containers or opens PCI devices is left to `qops diagnose`.
CHEAP = (
    *("gpus", "driver_module", "driver_params", "kernel_log", "memory", "disks", "shared_memory", "system"),
    *("modules", "kernel_cmdline", "intent", "standing", "inference", "engine-metrics"),
)
# One line for each GPU costs a part of what `-q -x` does (docs/measurements.md).
_GPUS = Command(
    (
        "nvidia-smi",
        "--query-gpu=index,name,uuid,pci.bus_id,driver_version,pstate,memory.total,memory.used,utilization.gpu,"
        "utilization.memory,power.draw,enforced.power.limit,power.default_limit,temperature.gpu,clocks.sm,"
        "clocks.max.sm,persistence_mode,ecc.errors.uncorrected.volatile.total,remapped_rows.pending,"
        "remapped_rows.failure",
        "--format=csv",
    ),
    "the state of each GPU in one line",
    timeout=20.0,
    name="nvidia-smi --query-gpu",
)


def cheap() -> list[Probe]:
    """Return the probes of a look, with each question put once."""
    known = [probe.once() for probe in probes.ALL if probe.name in CHEAP]
    return [structs.replace(probe, asks=(_GPUS,)) if probe.name == "gpus" else probe for probe in known]


class Watcher:
    """Looks at this host, and keeps what it answers in the ring `folder` of `size` bytes."""

    def __init__(self, folder: Path, size: int, metrics: str | None, suppress: str | None, *, quiet: bool) -> None:
        self._folder, self._size, self._metrics, self._quiet = folder, size, metrics, quiet
        self._settle = suppressing.settle(suppress, None, ())

    def look(self) -> int:
        """Look once, say the verdict, and return its exit status. A ring that cannot be written costs no verdict."""
        begun = time.monotonic()
        at = datetime.now(UTC)
        seen, kept = self._collect(at)
        report = self._settle(judge(seen.host, seen.collected_at, observe(seen.texts, seen.gaps), LISTED))
        used = 0
        if kept is not None:
            try:
                ring.name(kept, report)
                used = ring.prune(self._folder, self._size)
            except OSError as error:
                click.echo(f"the ring {self._folder} cannot be kept: {error.strerror}", err=True)
        (shown,), _ = without_secrets([report], [])
        screen.write([text.recap(shown)] if self._quiet else text.report([shown], quiet=True))
        if self._metrics:
            own = _own(shown, time.monotonic() - begun, used)
            output.write(prometheus.report([shown]) + own, self._metrics)
        return INTERRUPTED if seen.interrupted else exit_status((report,))

    def _collect(self, at: datetime) -> tuple[Collection, Path | None]:
        """Return what the host answered, and the bundle of it; None when there is none."""
        path = ring.place(self._folder, at)
        host = Local()
        seen: Collection | None = None
        try:
            ring.prune(self._folder, self._size)
            stamp = at.isoformat(timespec="seconds")
            with Writer(path, host=host.name, collected_at=stamp, redactor=Redactor()) as writer:
                seen = collect(host, cheap(), seconds=SECONDS, record=writer.add)
                writer.interrupted = seen.interrupted
            return seen, path
        except (BundleError, OSError) as error:  # a full disk is when a verdict is wanted most
            click.echo(f"the ring {self._folder} cannot be kept: {error}", err=True)
        return seen or collect(host, cheap(), seconds=SECONDS), None


def _own(report: HostReport, seconds: float, used: int) -> str:
    """Return the metrics of the look itself."""
    host = {"host": report.host}
    return prometheus.metric(
        "qops_watch_seconds", "How long the last look took.", [(host, seconds)]
    ) + prometheus.metric("qops_watch_ring_bytes", "How much evidence is kept.", [(host, used)])


def alerts() -> Path:
    """Return the file of alerts for Prometheus; raises QopsError when the installation lacks it."""
    package = Path(qops.__file__).parent
    for place in (package, package.parent.parent):  # installed; the checkout
        file = place / "monitoring/qops-alerts.yml"
        if file.is_file():
            return file
    raise QopsError("the alerts are not installed", f"expected in {package / 'monitoring'}; install qops again")


def show(folder: Path, form: str, color: str) -> int:
    """Write when the verdict changed and why. Of looks that follow each other with the same verdict, one is judged."""
    try:
        groups = ring.stretches(ring.looks(folder))
    except OSError as error:
        hint = "`qops watch --once` makes the first look; the role monitoring makes them regularly"
        raise UsageError(f"cannot read {folder}: {error.strerror}", hint) from None
    rows = []
    with Line("reading what was kept") as line:
        for number, group in enumerate(groups):
            line.update(number, len(groups), (), 0.0)
            rows.append((group, _reason(group[0])))
    if form == "json":
        data = [
            {
                "from": group[0].at.isoformat(),
                "to": group[-1].at.isoformat(),
                "looks": len(group),
                "verdict": group[0].verdict or "not judged",
                "reason": reason,
                "first": str(group[0].path),
                "last": str(group[-1].path),
            }
            for group, reason in rows
        ]
        sys.stdout.write(json.dumps({"schema": 1, "stretches": data}, indent=2, ensure_ascii=False) + "\n")
        return HEALTHY
    if not rows:
        sys.stdout.write(f"no look is kept in {folder}\n")
    for group, reason in rows:
        first, last = group[0], group[-1]
        until = f" to {last.at:%H:%M:%S}" if len(group) > 1 else ""
        word = first.verdict or "not judged"
        screen.write(
            [
                [
                    (f"{first.at:%Y-%m-%d %H:%M:%S}{until} UTC  ", "dim"),
                    (word, {"fault": "bold red", "healthy": "bold green"}.get(word, "bold yellow")),
                    (f": {reason}", ""),
                ],
                [(f"    {len(group)} look{'' if len(group) == 1 else 's'}, the first is {first.path}", "dim")],
            ],
            color=color,
        )
    return HEALTHY


def _reason(look: ring.Look) -> str:
    """Return why a look came out as it did; it is judged by today's rules."""
    try:
        (one,) = recorded([look.path])
    except (BundleError, UsageError) as error:
        return error.message
    (report,), _ = without_secrets([judge(one.host, one.collected_at, observe(one.texts, one.gaps), LISTED)], [])
    first = report.root or next((f for f in report.findings if f.severity != "info"), None)
    return f"{first.cause}: {first.subject}: {first.message}" if first else report.reason
