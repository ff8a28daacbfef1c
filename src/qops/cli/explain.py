"""`qops explain`: what a finding means, from the rule and its runbook."""

import click

from qops.errors import UsageError


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from qops.rules import ALL

    names = [name for rule in ALL for name in (rule.code, rule.cause)]
    return [n for n in names if n.lower().startswith(incomplete.lower())]


@click.command(epilog="Example: qops explain NCL001, or: qops explain rank-missing-from-collective")
@click.argument("finding", shell_complete=_complete)
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True)
def explain(finding: str, color: str) -> None:
    """Explain FINDING (a code or a cause): what it means, what it does, and its runbook."""
    import difflib

    from qops import runbook
    from qops.render import screen
    from qops.rules import ALL, RETIRED

    wanted = finding.lower()
    if finding.upper() in RETIRED:
        click.echo(f"{finding.upper()} is retired: {RETIRED[finding.upper()]}")
        return
    rule = next((r for r in ALL if wanted in (r.code.lower(), r.cause)), None)
    if rule is None:
        names = [name for r in ALL for name in (r.code.lower(), r.cause)]
        near = difflib.get_close_matches(wanted, names, n=3)
        raise UsageError(
            f"there is no finding {finding!r}",
            f"did you mean {', '.join(near)}?" if near else "`qops rules` lists all of them",
        )
    page = "".join(line for line in runbook.text(rule).splitlines(True) if not line.startswith("<!-- generated"))
    screen.markdown(page, color=color)
