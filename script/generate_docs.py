"""Writes the docs that are made from code: rules, evidence, command line, report schema, runbook headers.

`--write` writes them, `--check` fails when one is not current.
"""

import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import rule_index

from qops import probes, runbook
from qops.cli.group import qops
from qops.lab import faults
from qops.probes.base import Command
from qops.render import document
from qops.rule import Rule
from qops.rules import ALL

ROOT = Path(__file__).parent.parent
MADE = "<!-- made by script/docs; do not edit -->"
BEGIN, END = "<!-- generated: begin -->", "<!-- generated: end -->"


def rules() -> str:
    """Return docs/rules.md."""
    lines = ["# Rules", "", MADE, ""]
    for family in ("nccl", "cuda", "host", "serve"):
        own = [r for r in ALL if r.family == family]
        lines += [f"## {family}", "", "| code | cause | severity | role | what is wrong | needs | can use |"]
        lines += ["| --- | --- | --- | --- | --- | --- | --- |"]
        for r in own:
            needs = ", ".join(t.__name__ for _, t in r.needs)
            wants = ", ".join(t.__name__ for _, t in r.wants)
            lines.append(
                f"| [{r.code}](../{r.runbook}) | {r.cause} | {r.severity} | {r.role} | {r.summary} "
                f"| {needs} | {wants} |"
            )
        lines.append("")
    return "\n".join(lines)


def evidence() -> str:
    """Return docs/evidence.md: what is run on a host, as whom, and for how long."""
    lines = [
        "# Evidence",
        "",
        MADE,
        "",
        "What `qops diagnose` and `qops collect` ask a host. Every question only reads. `root` marks what answers",
        "fully only to root; without it the answer is a gap that the report shows. `time` is the limit in seconds,",
        "`at` the seconds after the start at which it is asked.",
        "",
    ]
    for probe in probes.ALL:
        if not probe.asks:
            continue
        lines += [f"## {probe.name}", "", f"Makes `{probe.makes.__name__}`.", ""]
        lines += ["| asked | why | root | time | at |", "| --- | --- | --- | --- | --- |"]
        scripts: list[tuple[str, str]] = []
        for ask in probe.asks:
            if isinstance(ask, Command):
                name = getattr(ask, "name", "") or shlex.join(ask.argv)
                if "\n" in shlex.join(ask.argv):
                    scripts.append((name, ask.argv[-1]))
                at = ", ".join(f"{s:g}" for s in ask.samples)
                lines.append(f"| `{_cell(name)}` | {ask.why} | {'yes' if ask.root else ''} | {ask.timeout:g} | {at} |")
            else:
                lines.append(f"| `{_cell(ask.path)}` (file) | {ask.why} | {'yes' if ask.root else ''} | | |")
        lines.append("")
        for name, script in scripts:
            lines += [
                f"<details><summary>script: {name}</summary>",
                "",
                "```sh",
                script.strip(),
                "```",
                "",
                "</details>",
                "",
            ]
    return "\n".join(lines)


def cli() -> str:
    """Return docs/cli.md from the click tree."""
    lines = ["# Command line", "", MADE, ""]
    context = click.Context(qops, info_name="qops", max_content_width=100)
    lines += ["## qops", "", "```text", qops.get_help(context).rstrip(), "```", ""]
    for path, command in _commands(context):
        lines += [f"## {path}", "", "```text", command, "```", ""]
    return "\n".join(lines)


def _commands(parent: click.Context) -> Iterator[tuple[str, str]]:
    group = parent.command
    if not isinstance(group, click.Group):
        return
    for name in group.list_commands(parent):
        command = group.get_command(parent, name)
        if command is None:
            continue
        context = click.Context(command, info_name=name, parent=parent, max_content_width=100)
        yield context.command_path, command.get_help(context).rstrip()
        yield from _commands(context)


def header(rule: Rule) -> str:
    """Return the generated part of a runbook page."""
    seen = ", ".join(t.__name__ for _, t in (*rule.needs, *rule.wants))
    tags = sorted({f.tag for f in rule.fix if f.tag})
    lines = [
        BEGIN,
        f"*{rule.summary}*",
        "",
        "| severity | role | judged from | Ansible tag |",
        "| --- | --- | --- | --- |",
        f"| {rule.severity} | {rule.role} | {seen} | {', '.join(tags) or 'none'} |",
        *_practised(rule),
        END,
    ]
    return "\n".join(lines)


def _practised(rule: Rule) -> tuple[str, ...]:
    """Say whether what changes something on a rule's page was ever run on a host that has the fault."""
    if not any(step.changes and not step.by_hand for step in runbook.of_rule(rule).steps):
        return ()
    if rule.cause in {fault.cause for fault in faults.ALL}:
        return ("", f"Practise it: `qops lab break {rule.cause} HOST`.")
    return ("", "The lab has no such fault, so what changes something here was not run on a host that has it.")


def pages() -> dict[Path, str]:
    """Return the text that each generated file should have."""
    made = {
        ROOT / "docs/rules.md": rules(),
        ROOT / "docs/evidence.md": evidence(),
        ROOT / "docs/cli.md": cli(),
        ROOT / "docs/report.schema.json": document.schema(),
        rule_index.PLACE: rule_index.made(),
    }
    for rule in ALL:
        path = ROOT / rule.runbook
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            made[path] = re.sub(
                re.escape(BEGIN) + r".*?" + re.escape(END), lambda _, r=rule: header(r), text, count=1, flags=re.S
            )
    readme = ROOT / "README.md"
    if readme.is_file():
        text = readme.read_text(encoding="utf-8")
        made[readme] = re.sub(r"(<!-- rules -->)\d*(<!-- /rules -->)", rf"\g<1>{len(ALL)}\g<2>", text)
    return made


def _cell(text: str) -> str:
    first = text.strip().splitlines()[0]
    return (first if len(first) < 120 else first[:117] + "…").replace("|", "\\|")


def main() -> int:
    """Write or check all pages; return 1 when a check fails."""
    check = "--check" in sys.argv[1:]
    stale = [p for p, text in pages().items() if not p.is_file() or p.read_text(encoding="utf-8") != text]
    if check:
        for path in stale:
            print(f"docs: {path.relative_to(ROOT)} is not current; run script/docs", file=sys.stderr)
        return 1 if stale else 0
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(pages()[path], encoding="utf-8")
        print(f"docs: wrote {path.relative_to(ROOT)}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
