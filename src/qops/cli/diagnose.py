"""`qops diagnose`: the root cause of a fault, on this host, on other hosts, or in recorded evidence."""

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from qops.cli import options
from qops.errors import HEALTHY, INTERRUPTED, UsageError
from qops.report import HostReport, JobReport, Verdict, exit_status
from qops.rule import Rule

if TYPE_CHECKING:
    from qops.job import Judged

PAUSE = 5.0  # seconds between two looks of --watch

EXAMPLES = """
\b
Examples:
  qops diagnose                              this host, everything
  sudo qops diagnose nccl                    a hang on this host: which rank, and why
  qops diagnose nccl --watch                 wait until it hangs, then say why
  qops diagnose -i hosts.yml -l spark        the hosts of a group, by SSH
  qops diagnose --from host.tar.gz           a bundle that `qops collect` made
  qops diagnose --from worker0.log --from worker1.log --from topo.txt
  journalctl -u vllm | qops diagnose serve --from -
"""


@click.command(epilog=EXAMPLES)
@click.argument("family", type=click.Choice([*options.FAMILIES, "all"]), default="all")
@options.fleet
@click.option("--from", "paths", multiple=True, metavar="PATH", help="Judge a bundle, folder or log (- for stdin).")
@click.option("--select", multiple=True, callback=options.split, metavar="CODES", help="Only these rules.")
@click.option("--ignore", multiple=True, callback=options.split, metavar="CODES", help="All rules but these.")
@click.option(
    "--seconds", type=click.FloatRange(1, 600), default=options.SECONDS, show_default=True, help="Time to look."
)
@click.option("--watch", is_flag=True, help="Look again and again until there is a fault.")
@click.option("--record", type=click.Path(dir_okay=False), help="Save the evidence of this host as a bundle.")
@options.form("text", "json")
@options.color
@click.option("-v", "--verbose", is_flag=True, help="All evidence, and what was not seen.")
@click.option("-q", "--quiet", is_flag=True, help="Findings and verdict only.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 whatever is found.")
def diagnose(
    family: str,
    inventory: str | None,
    limit: str | None,
    paths: tuple[str, ...],
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    seconds: float,
    watch: bool,
    record: str | None,
    form: str,
    color: str,
    verbose: bool,
    quiet: bool,
    exit_zero: bool,
) -> int:
    """Find the root cause of a fault in FAMILY (default: all): here, on other hosts, or in recorded evidence.

    It only reads: nothing is changed, stopped or restarted. As root it sees more.
    """
    if paths and (watch or record):
        raise UsageError("--watch and --record need a live host", "leave out --from")
    if inventory and (paths or watch or record):
        raise UsageError(
            "-i goes neither with --from nor with --watch or --record",
            "to save evidence: qops collect -i FILE -o FOLDER",
        )
    rules = _selected(select, ignore)
    jobs: tuple[JobReport, ...] = ()
    if hosts := options.hosts(inventory, limit):
        from qops import probes
        from qops.cli import fleet

        known = [p for p in probes.ALL if (p.families if family == "all" else family in p.families)]
        found, interrupted = fleet.diagnose(hosts, known, rules, seconds=seconds, quiet=quiet)
        reports, jobs = _joined(found, rules)
    elif paths:
        found, interrupted = _recorded(paths, rules)
        reports, jobs = _joined(found, rules)
    else:
        report, interrupted = _live(family, rules, seconds=seconds, watch=watch, record=record, quiet=quiet)
        reports = (report,)
    if form == "json":
        from qops.render import document

        sys.stdout.write(document.report(reports, jobs))
    else:
        from qops.render import screen, text

        screen.write(text.report(reports, jobs, verbose=verbose, quiet=quiet), color=color)
    if exit_zero:
        return HEALTHY
    return INTERRUPTED if interrupted else exit_status(reports, jobs)


def _selected(select: Sequence[str], ignore: Sequence[str]) -> tuple[Rule, ...]:
    from qops.rules import ALL, RETIRED

    known = {name for r in ALL for name in (r.code, r.cause)} | set(RETIRED)
    for name in (*select, *ignore):
        if not any(k.upper().startswith(name.upper()) for k in known):
            raise UsageError(f"no rule is called {name!r}", "`qops rules` lists them; NCL selects a whole family")

    def named(rule: Rule, names: Sequence[str]) -> bool:
        return any(rule.code.startswith(n.upper()) or rule.cause == n for n in names)

    return tuple(r for r in ALL if (not select or named(r, select)) and not named(r, ignore))


def _joined(found: Sequence["Judged"], rules: Sequence[Rule]) -> tuple[tuple[HostReport, ...], tuple[JobReport, ...]]:
    from qops.job import joined

    return joined(found, rules)


def _recorded(paths: Sequence[str], rules: Sequence[Rule]) -> tuple[tuple["Judged", ...], bool]:
    from qops.engine import judge, observe
    from qops.job import judged
    from qops.recording import recorded

    found = []
    interrupted = False
    for one in recorded(paths):
        evidence = observe(one.texts, one.gaps)
        found.append(judged(judge(one.host or "evidence", one.collected_at, evidence, rules), evidence))
        interrupted = interrupted or one.interrupted
    return tuple(found), interrupted


def _live(
    family: str, rules: Sequence[Rule], *, seconds: float, watch: bool, record: str | None, quiet: bool
) -> tuple[HostReport, bool]:
    from qops import probes
    from qops.cli.looking import look
    from qops.cli.progress import Line
    from qops.engine import judge, observe

    wanted = [p for p in probes.ALL if (p.families if family == "all" else family in p.families)]
    looks = 0
    while True:
        found = look(wanted, what="looking at this host", seconds=seconds, output=record, quiet=quiet)
        looks += 1
        report = judge(found.host, found.collected_at, observe(found.texts, found.gaps), rules)
        if not watch or found.interrupted or report.verdict is Verdict.FAULT:
            return report, found.interrupted
        with Line("watch", quiet=quiet) as line:
            try:
                line.note(f"watch: look {looks}: {report.verdict}: {report.reason}; next in {PAUSE:.0f} s, Ctrl-C ends")
                time.sleep(PAUSE)
            except KeyboardInterrupt:
                return report, True
