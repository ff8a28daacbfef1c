"""What must hold for every page: headings, links, commands, options, tags and variables that exist, and no lie."""

import itertools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import yaml

from qops import runbook
from qops.cli.group import qops
from qops.inventory.specs import SHARED
from qops.lab import faults
from qops.rule import Rule
from qops.rules import ALL
from qops.runbook import filling, library
from qops.runbook.page import CHANGING, Page

ROOT = Path(__file__).parent.parent.parent
OTHERS = [page for kind in library.KINDS for page in runbook.of_kind(kind)]
PAGES = [*OTHERS, *(runbook.of_rule(rule) for rule in ALL)]
each = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)

# What no step may do that is run without being asked for.
_CHANGES = re.compile(
    r"\bsystemctl (?:re)?(?:start|stop|restart|kill|enable|disable|mask|reset-failed)\b|\bmodprobe\s+-?\w*\s*nvidia|"
    r"\b(?:rm|mv|tee|kill|dd|mkfs)\s+[-/\"\w]|\bsysctl -w\b|\bnvidia-smi\b.*\s-(?:r|pl|lgc|pm)\b|"
    r"\bapt-get (?:install|remove|upgrade)|\bapt-mark (?:un)?hold|\bdocker (?:run|restart|stop|rm|kill|update)\b|"
    r"\bsetpci\b.*=|\bsed -i\b|\bip link set\b|\bansible-playbook (?!.*--check)(?!.*preflight\.yml)|\bqops probe p2p --i"
)


@each
def test_a_page_has_the_headings_of_its_kind(page: Page) -> None:
    if page.kind == "symptoms":
        assert "Look" in page.headings and page.headings[-1] == "If nothing fits"
    elif page.kind == "planned":
        assert page.headings == ("Before", "Change", "Verification", "Undo")


@each
def test_links_lead_to_something(page: Page) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.text):
        assert (library.folder() / page.kind / target).resolve().exists(), target


@each
def test_what_is_run_unasked_changes_nothing(page: Page) -> None:
    for step in page.steps:
        if not step.changes:
            assert not (found := _CHANGES.search(step.script)), f"{step.heading}: {found and found[0]}"


@each
def test_a_value_that_only_a_person_can_give_is_said_to_be_missing_on_a_practice_host(page: Page) -> None:
    practised = next((line for line in page.text.splitlines() if line.startswith("Not on a practice host:")), "")
    for step in page.steps:
        if not step.changes and not step.by_hand:
            for name in filling.missing(filling.fill(step.script, {"HOST": "gpu-1", "INVENTORY": "lab.yml"})):
                assert f"`{name}`" in practised, step.script


@each
def test_a_step_by_hand_is_explained(page: Page) -> None:
    if any(step.by_hand for step in page.steps):
        assert "by hand" in re.sub(r"^```.*$", "", page.text, flags=re.M)


def test_both_kinds_of_steps_are_found_where_the_headings_say() -> None:
    changing = {step.heading for page in PAGES for step in page.steps if step.changes}
    assert set(CHANGING) <= changing


def _quoted(text: str, program: str) -> Iterator[list[str]]:
    """Yield the words of each command of `program` in blocks and in inline code, without what follows it."""
    blocks = re.findall(r"^```bash[^\n]*\n(.*?)^```", text, re.M | re.S)
    inline = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))
    for line in [line for block in blocks for line in block.splitlines()] + inline:
        for found in re.findall(rf"(?:^|[;&|(]\s*|sudo )({program} [^;&|)>#]+)", line):
            try:
                yield shlex.split(found)
            except ValueError:
                yield found.split()


def _check(words: list[str]) -> None:
    command: click.Command = qops
    context = click.Context(qops)
    rest = words[1:]
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        found = command.get_command(context, rest[0])
        assert found is not None, f"there is no {' '.join(words)}"
        command, rest = found, rest[1:]
    known = {name for one in command.params for name in (*one.opts, *one.secondary_opts)} | {"-h", "--help"}
    for word in rest:
        if word == "--":
            break
        if re.match(r"--?[a-zA-Z]", word):
            assert word.split("=")[0] in known, f"{word} of {' '.join(words)}"
    for parameter in command.params:
        if isinstance(parameter.type, click.Choice) and isinstance(parameter, click.Option):
            for option, value in itertools.pairwise(rest):
                assert option not in parameter.opts or value in parameter.type.choices, f"{option} {value}"


@each
def test_commands_and_options_of_qops_exist(page: Page) -> None:
    for words in _quoted(page.text, "qops"):
        _check(words)


def _roles() -> set[str]:
    return {folder.name for folder in (ROOT / "roles").iterdir() if (folder / "tasks").is_dir()}


def _variables() -> set[str]:
    found = set(SHARED)
    for file in (ROOT / "roles").glob("*/meta/argument_specs.yml"):
        for spec in yaml.safe_load(file.read_text())["argument_specs"].values():
            found |= set(spec.get("options") or {})
    return found


@each
def test_playbooks_tags_and_variables_exist(page: Page) -> None:
    variables = _variables()
    for words in _quoted(page.text, "ansible-playbook"):
        assert (ROOT / words[1]).is_file() or words[1] in ("-i", "…"), words
        for option, value in itertools.pairwise(words):
            if option == "--tags":
                assert set(value.split(",")) <= _roles(), words
            if option == "-e" and "=" in value and not value.startswith("{"):
                assert value.split("=")[0] in variables, words


def test_what_a_fix_names_exists() -> None:
    variables = _variables()
    for rule in ALL:
        for fix in rule.fix:
            assert not fix.tag or fix.tag in _roles(), rule.code
            assert not fix.variable or fix.variable in variables, rule.code


def test_every_entry_page_leads_to_causes() -> None:
    for page in runbook.of_kind("symptoms"):
        least = 2 if page.name == "watch-silent" else 8
        assert len(set(re.findall(r"\[([A-Z]{3}\d{3})\s", page.text))) >= least, page.name


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.code)
def test_a_page_that_changes_something_says_whether_that_was_ever_tried(rule: Rule) -> None:
    page = runbook.of_rule(rule)
    if any(step.changes and not step.by_hand for step in page.steps):
        tried = rule.cause in {fault.cause for fault in faults.ALL}
        said = f"Practise it: `qops lab break {rule.cause} HOST`." in page.text
        untried = "The lab has no such fault, so what changes something here was not run" in page.text
        assert (said, untried) == (tried, not tried)
