"""`qops diagnose`: the root cause of a fault, on this host, on other hosts, or in recorded evidence."""

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from qops.cli import options, output, reporting, suppressing
from qops.errors import HEALTHY, INTERRUPTED, UsageError
from qops.report import HostReport, Verdict

if TYPE_CHECKING:
    from qops.job import Judged
    from qops.rules.listing import Listed

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
  qops diagnose cuda --image vllm/vllm-openai:v0.33.0              can it run here? before it is started
  qops diagnose serve --model /var/lib/qops/models/qwen3.6         a checkpoint: whole, and quantised as it says?
  qops diagnose serve -i hosts.yml --model /var/lib/qops/models/qwen3.6   the same on hosts
  qops diagnose cuda --image sglang.tar --gpu "RTX 5090" --driver 580.126.09
  qops diagnose -i hosts.yml --format html -o report.html
  qops diagnose --format nagios --exit-codes nagios
"""


@click.command(epilog=EXAMPLES)
@click.argument("family", type=click.Choice([*options.FAMILIES, "all"]), default="all")
@options.fleet
@click.option("--from", "paths", multiple=True, metavar="PATH", help="Judge a bundle, folder or log (- for stdin).")
@click.option(
    "--image",
    type=click.Path(),
    metavar="NAME",
    help="cuda: judge this image (docker, podman, or an archive), not started.",
)
@click.option("--rootfs", type=click.Path(), metavar="DIR", help="cuda: judge an unpacked image.")
@click.option(
    "--model",
    type=click.Path(),
    metavar="DIR",
    help="serve: judge this model's files, not loaded, here or on hosts (-i).",
)
@click.option("--gpu", default="", metavar="GPU", help="For this GPU, not this host's: sm_120, 12.0 or 'RTX 5090'.")
@click.option("--driver", default="", metavar="VERSION", help="For this driver, such as 580.126.09.")
@click.option("--select", multiple=True, callback=options.split, metavar="CODES", help="Only these rules.")
@click.option("--ignore", multiple=True, callback=options.split, metavar="CODES", help="All rules but these.")
@click.option(
    "--seconds", type=click.FloatRange(1, 600), default=options.SECONDS, show_default=True, help="Time to look."
)
@click.option(
    "--suppress",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Findings that are not to count, each with a reason.",
)
@click.option("--watch", is_flag=True, help="Look again and again until there is a fault.")
@click.option("--record", type=click.Path(dir_okay=False), help="Save the evidence of this host as a bundle.")
@options.form(*reporting.FORMATS)
@output.option
@options.color
@click.option("-v", "--verbose", is_flag=True, help="All evidence, and what was not seen.")
@click.option("-q", "--quiet", is_flag=True, help="Findings and verdict only.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 whatever is found.")
@click.option(
    "--exit-codes",
    type=click.Choice(reporting.EXIT_CODES),
    default="qops",
    show_default=True,
    help="Whose exit status: nagios is 0 OK, 1 warning, 2 critical, 3 unknown.",
)
def diagnose(
    family: str,
    inventory: str | None,
    limit: str | None,
    paths: tuple[str, ...],
    image: str | None,
    rootfs: str | None,
    model: str | None,
    gpu: str,
    driver: str,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    seconds: float,
    suppress: str | None,
    watch: bool,
    record: str | None,
    form: str,
    output: str | None,
    color: str,
    verbose: bool,
    quiet: bool,
    exit_zero: bool,
    exit_codes: str,
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
    hosts = options.hosts(inventory, limit, also=("qops_suppress",))
    settle = suppressing.settle(suppress, inventory, hosts)
    if (gpu or driver) and not (image or rootfs):
        raise UsageError("--gpu and --driver say what an image is judged for", "add --image NAME or --rootfs DIR")
    _refuse_together(image, rootfs, model, inventory, live_only=watch or bool(record))
    if model:
        from qops.cli import checkpoint

        if hosts:
            found, interrupted = checkpoint.judged_on(hosts, model, rules, quiet=quiet)
        else:
            found, interrupted = checkpoint.judged(model, rules, quiet=quiet), False
    elif image or rootfs:
        from qops.cli import candidate

        seen = candidate.judged(image or "", rootfs or "", rules, paths=paths, gpu=gpu, driver=driver, quiet=quiet)
        found = tuple(replace(one, report=settle(one.report)) for one in seen)
        interrupted = False
    elif hosts:
        from qops import probes
        from qops.cli import fleet

        known = [p for p in probes.ALL if (p.families if family == "all" else family in p.families)]
        found, interrupted = fleet.diagnose(
            hosts, known, rules, settle, seconds=seconds, lines=form == "text", quiet=quiet
        )
    elif paths:
        found, interrupted = _recorded(paths, rules, settle)
    else:
        found, interrupted = _live(family, rules, settle, seconds=seconds, watch=watch, record=record, quiet=quiet)
    from qops.job import joined

    reports, jobs = joined(found, rules)
    reporting.write(
        reports,
        jobs,
        {one.report.host: one.picture for one in found},
        form=form,
        path=output,
        color=color,
        verbose=verbose,
        quiet=quiet,
    )
    if exit_zero:
        return HEALTHY
    return INTERRUPTED if interrupted else reporting.status(reports, jobs, exit_codes)


def _refuse_together(
    image: str | None, rootfs: str | None, model: str | None, inventory: str | None, *, live_only: bool
) -> None:
    """Raise UsageError where what is named and how it is to be looked at do not go together."""
    named = [one for one in (image, rootfs, model) if one]
    if named and (live_only or len(named) > 1):
        raise UsageError(
            "--image, --rootfs and --model go neither with --watch or --record nor together",
            "judge one of them, without the others",
        )
    if inventory and (image or rootfs):
        hint = "run it on the host where it lies; an image can be judged for a bundle of a host: --from FILE"
        raise UsageError("--image and --rootfs do not go with -i", hint)


def _selected(select: Sequence[str], ignore: Sequence[str]) -> "tuple[Listed, ...]":
    from qops.rules import LISTED, RETIRED

    known = {name for r in LISTED for name in (r.code, r.cause)} | set(RETIRED)
    for name in (*select, *ignore):
        if not any(k.upper().startswith(name.upper()) for k in known):
            raise UsageError(f"no rule is called {name!r}", "`qops rules` lists them; NCL selects a whole family")

    def named(rule: "Listed", names: Sequence[str]) -> bool:
        return any(rule.code.startswith(n.upper()) or rule.cause == n for n in names)

    return tuple(r for r in LISTED if (not select or named(r, select)) and not named(r, ignore))


def _recorded(
    paths: Sequence[str], rules: "Sequence[Listed]", settle: Callable[[HostReport], HostReport]
) -> tuple[tuple["Judged", ...], bool]:
    from qops.engine import judge, observe
    from qops.job import judged
    from qops.recording import recorded

    found = []
    interrupted = False
    for one in recorded(paths):
        evidence = observe(one.texts, one.gaps)
        report = settle(judge(one.host or "evidence", one.collected_at, evidence, rules))
        found.append(judged(report, evidence, one.clock))
        interrupted = interrupted or one.interrupted
    return tuple(found), interrupted


def _live(
    family: str,
    rules: "Sequence[Listed]",
    settle: Callable[[HostReport], HostReport],
    *,
    seconds: float,
    watch: bool,
    record: str | None,
    quiet: bool,
) -> tuple[tuple["Judged", ...], bool]:
    from qops import probes
    from qops.cli.looking import look
    from qops.cli.progress import Line
    from qops.engine import judge, observe
    from qops.job import judged

    wanted = [p for p in probes.ALL if (p.families if family == "all" else family in p.families)]
    looks = 0
    while True:
        found = look(wanted, what="looking at this host", seconds=seconds, output=record, quiet=quiet)
        looks += 1
        evidence = observe(found.texts, found.gaps)
        report = settle(judge(found.host, found.collected_at, evidence, rules))
        one = judged(report, evidence)
        if not watch or found.interrupted or report.verdict is Verdict.FAULT:
            return (one,), found.interrupted
        with Line("watch", quiet=quiet) as line:
            try:
                line.note(f"watch: look {looks}: {report.verdict}: {report.reason}; next in {PAUSE:.0f} s, Ctrl-C ends")
                time.sleep(PAUSE)
            except KeyboardInterrupt:
                return (one,), True
