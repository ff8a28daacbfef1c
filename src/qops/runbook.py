"""The runbook pages: in the package when installed, in the checkout otherwise."""

from pathlib import Path

from qops.errors import QopsError
from qops.rule import Rule

_PACKAGE = Path(__file__).parent
PLACES = (_PACKAGE / "runbooks", _PACKAGE.parent.parent / "runbooks")


def folder() -> Path:
    """Return the folder of the pages; raises QopsError when the installation lacks them."""
    for place in PLACES:
        if place.is_dir():
            return place
    raise QopsError("the runbooks are not installed", f"expected in {PLACES[0]}; install qops again")


def page(rule: Rule) -> str:
    """Return the Markdown page of `rule`; raises QopsError when it has none."""
    path = folder().parent / rule.runbook
    if not path.is_file():
        raise QopsError(f"{rule.code} has no runbook page", f"expected {path}")
    return path.read_text(encoding="utf-8")
