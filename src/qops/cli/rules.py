"""`qops rules`: the list of rules."""

import click


@click.command(epilog="Example: qops rules --family nccl")
@click.option("--family", type=click.Choice(["nccl", "cuda", "host", "serve"]), help="Only this family.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def rules(family: str | None, form: str) -> None:
    """List the rules: code, severity, cause and what is wrong."""
    import sys

    from qops.render import document, screen
    from qops.rules import ALL

    known = [r for r in ALL if family in (None, r.family)]
    if form == "json":
        sys.stdout.write(document.rules(known))
        return
    width = max((len(r.cause) for r in known), default=0)
    screen.write([[(f"{r.code}  {r.severity:<7}  {r.cause:<{width}}  {r.summary}", "")] for r in known])
