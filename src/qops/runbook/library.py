"""The runbook pages: in the package when installed, in the checkout otherwise."""

import difflib
from pathlib import Path

from qops.errors import QopsError, UsageError
from qops.rule import Rule
from qops.rules import ALL, RETIRED
from qops.runbook.page import Page, parse

_PACKAGE = Path(__file__).parent.parent
PLACES = (_PACKAGE / "runbooks", _PACKAGE.parent.parent / "runbooks")
KINDS = ("symptoms", "planned")
"""Folders of pages that belong to no rule: where one begins when something is wrong, and work that is planned."""


def folder() -> Path:
    """Return the folder of the pages; raises QopsError when the installation lacks them."""
    for place in PLACES:
        if place.is_dir():
            return place
    raise QopsError("the runbooks are not installed", f"expected in {PLACES[0]}; install qops again")


def text(rule: Rule) -> str:
    """Return the Markdown page of `rule`; raises QopsError when it has none."""
    path = folder().parent / rule.runbook
    if not path.is_file():
        raise QopsError(f"{rule.code} has no runbook page", f"expected {path}")
    return path.read_text(encoding="utf-8")


def of_rule(rule: Rule) -> Page:
    """Return the page of `rule`; raises QopsError when it has none."""
    return parse(rule.cause, rule.family, text(rule))


def of_kind(kind: str) -> tuple[Page, ...]:
    """Return the pages of one of `KINDS`, by name."""
    files = sorted((folder() / kind).glob("*.md"))
    return tuple(parse(file.stem, kind, file.read_text(encoding="utf-8")) for file in files)


def names() -> tuple[str, ...]:
    """Return every word that `find` takes: codes, causes, and the names of the other pages."""
    own = (file.stem for kind in KINDS for file in sorted((folder() / kind).glob("*.md")))
    return (*(name for rule in ALL for name in (rule.code, rule.cause)), *own)


def find(name: str) -> tuple[Page, Rule | None]:
    """Return the page that `name` means, and its rule when it has one; raises UsageError with the nearest names."""
    wanted = name.lower()
    if name.upper() in RETIRED:
        raise UsageError(f"{name.upper()} is retired: {RETIRED[name.upper()]}")
    for rule in ALL:
        if wanted in (rule.code.lower(), rule.cause):
            return of_rule(rule), rule
    for kind in KINDS:
        for page in of_kind(kind):
            if page.name == wanted:
                return page, None
    near = difflib.get_close_matches(wanted, [one.lower() for one in names()], n=3)
    raise UsageError(
        f"there is no runbook {name!r}", f"did you mean {', '.join(near)}?" if near else "`qops runbook list` has all"
    )
