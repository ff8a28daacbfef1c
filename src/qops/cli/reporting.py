"""A report in the format that was asked for, without the secrets that hosts said, and the exit status of it."""

from collections.abc import Mapping, Sequence

import msgspec

from qops.cli import output
from qops.derive.picture import Picture
from qops.redaction import Redactor
from qops.report import HostReport, JobReport, exit_status

FORMATS = ("text", "json", "sarif", "junit", "prometheus", "nagios", "html")
EXIT_CODES = ("qops", "nagios")


def write(
    hosts: Sequence[HostReport],
    jobs: Sequence[JobReport],
    pictures: Mapping[str, Picture],
    *,
    form: str,
    path: str | None,
    color: str,
    verbose: bool,
    quiet: bool,
) -> None:
    """Write the report on `hosts` and `jobs` as `form`. `pictures` is what of the hosts can be drawn, by name."""
    hosts, jobs = without_secrets(hosts, jobs)
    if form == "text":
        from qops.render import text

        output.lines(text.report(hosts, jobs, verbose=verbose, quiet=quiet), path, color=color)
        return
    output.write(_text(form, hosts, jobs, pictures), path)


def status(hosts: Sequence[HostReport], jobs: Sequence[JobReport], codes: str) -> int:
    """Return the exit status: qops' own, or the one that Nagios expects."""
    if codes == "nagios":
        from qops.render import nagios

        return nagios.status(hosts, jobs)
    return exit_status(tuple(hosts), tuple(jobs))


def without_secrets(
    hosts: Sequence[HostReport], jobs: Sequence[JobReport]
) -> tuple[tuple[HostReport, ...], tuple[JobReport, ...]]:
    """Return the reports with every secret replaced, the same one by the same mark on all hosts."""
    redact = Redactor()

    def plain(value: object) -> object:
        if isinstance(value, str):
            return redact(value.encode()).decode(errors="replace")
        if isinstance(value, (list, tuple)):
            return [plain(one) for one in value]
        if isinstance(value, dict):
            return {key: plain(one) for key, one in value.items()}
        return value

    kinds = tuple[tuple[HostReport, ...], tuple[JobReport, ...]]
    made: tuple[tuple[HostReport, ...], tuple[JobReport, ...]] = (tuple(hosts), tuple(jobs))
    written = plain(msgspec.to_builtins(made))
    return msgspec.convert(written, type=kinds) if redact.counts else made


def _text(form: str, hosts: Sequence[HostReport], jobs: Sequence[JobReport], pictures: Mapping[str, Picture]) -> str:
    # Each is imported when it is asked for: together they would double the time of a start.
    if form == "sarif":
        from qops.render import sarif

        return sarif.report(hosts, jobs)
    if form == "junit":
        from qops.render import junit

        return junit.report(hosts, jobs)
    if form == "prometheus":
        from qops.render import prometheus

        return prometheus.report(hosts, jobs)
    if form == "nagios":
        from qops.render import nagios

        return nagios.report(hosts, jobs)
    if form == "html":
        from qops.render import html

        return html.report(hosts, jobs, pictures)
    from qops.render import document

    return document.report(hosts, jobs)
