"""`qops probe`: measurements that use the GPUs, so that nothing but a person's wish starts them."""

import re
import sys

import click

from qops.cli import options
from qops.errors import UsageError

EXAMPLES = """
\b
Examples:
  qops probe p2p --predict                              which pairs NCCL will connect how; starts nothing
  sudo qops probe p2p --image vllm/vllm-openai:v0.33.0  in the image that serves
  sudo qops probe p2p --python /opt/vllm/bin/python     in a virtual environment
  sudo qops probe p2p --image IMAGE --gpus 4,5,6,7 --limit 60
  qops probe p2p --python python3 -o p2p.json           without root: keep the result elsewhere

\b
Exit status: 0 right data in every attempt, 1 a hang or wrong data,
2 usage (also: a GPU is in use), 3 an attempt could not be made, 130 interrupted.
"""
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{0,60}=[^\x00-\x1f]{0,300}")


@click.group(
    help="Measure what only a running job can show. It uses the GPUs, and only idle ones." + "\n" + EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
def probe() -> None:
    """Root of the measurements; its help text is in the decorator."""


@probe.command(epilog=EXAMPLES)
@click.option("--image", metavar="NAME", help="Run in this image, which is here already: docker or podman.")
@click.option("--python", metavar="PATH", help="Run in this Python of the host, such as a virtual environment's.")
@click.option("--gpus", default="", metavar="INDEXES", help="GPUs to try, such as 4,5,6,7. All by default.")
@click.option(
    "--limit", type=click.FloatRange(10, 3600), default=120.0, show_default=True, help="Seconds for one attempt."
)
@click.option(
    "-e", "--env", "variables", multiple=True, metavar="NAME=VALUE", help="Set for every attempt. Repeatable."
)
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False), help="Keep the result here, not where diagnoses look for it."
)
@click.option("--predict", is_flag=True, help="Only say what NCCL will do on this machine; start nothing.")
@options.form("text", "json")
@options.color
@click.option("-q", "--quiet", is_flag=True, help="No line of progress.")
def p2p(
    image: str | None,
    python: str | None,
    gpus: str,
    limit: float,
    variables: tuple[str, ...],
    output: str | None,
    predict: bool,
    form: str,
    color: str,
    quiet: bool,
) -> int:
    """Check peer-to-peer between GPUs: all-reduces whose data is compared, as is and with peer-to-peer off.

    All GPUs together and each pair, in four sizes; where NCCL leaves pairs out by itself, also with these. An attempt
    that hangs is ended after --limit seconds. Nothing is left running. The result is kept on this host as evidence:
    `qops plan` then lets NCCL reach as far as was proved, and `qops diagnose` and `qops collect` know it.
    """
    from qops.cli import probing_p2p

    if image and python:
        raise UsageError("--image and --python are two places to run in", "give one of them")
    if not (image or python or predict):
        hint = "add --image NAME (docker image ls) or --python PATH; --predict starts nothing"
        raise UsageError("the probe needs a PyTorch: that of an image or of a Python", hint)
    for one in variables:
        if not _VARIABLE.fullmatch(one):
            raise UsageError(f"-e cannot be {one!r}", "give NAME=VALUE, such as -e NCCL_ALGO=Ring")
    wanted = probing_p2p.Wanted(
        image=image or "",
        python=python or "",
        gpus=_indexes(gpus),
        limit=limit,
        environment=dict(one.split("=", 1) for one in variables),
        output=output or "",
    )
    run = probing_p2p.predicted if predict else probing_p2p.probed
    text, lines, status = run(wanted, quiet=quiet)
    if form == "json":
        sys.stdout.write(text)
    else:
        from qops.render import screen

        screen.write(lines, color=color)
    return status


def _indexes(said: str) -> tuple[int, ...]:
    words = [word.strip() for word in said.split(",") if word.strip()]
    if any(not (word.isascii() and word.isdigit() and len(word) < 4) for word in words):
        raise UsageError(f"--gpus cannot be {said!r}", "give indexes as nvidia-smi has them: 0,1,2,3")
    return tuple(dict.fromkeys(int(word) for word in words))
