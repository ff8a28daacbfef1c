"""Writes the README of each role from its argument_specs, rules and notes.

`--write` writes them, `--check` fails when one is not current. What stands in a README outside the marks is kept.
"""

import re
import sys
from pathlib import Path
from typing import Any

import yaml

from qops.rules import ALL

ROOT = Path(__file__).parent.parent
BEGIN, END = "<!-- generated: begin (script/generate_role_docs.py) -->", "<!-- generated: end -->"
_MARKUP = re.compile(r"\b([VCO])\(([^)]*)\)")  # Ansible's marks for values, code and options


def plain(text: str | list[str]) -> str:
    """Return a description, in one piece or in paragraphs, with Ansible's marks as Markdown code."""
    return _MARKUP.sub(r"`\2`", text if isinstance(text, str) else " ".join(text))


def table(options: dict[str, Any]) -> list[str]:
    """Return the table of a role's variables."""
    lines = ["| variable | type | default | what it is |", "| --- | --- | --- | --- |"]
    for name, option in options.items():
        default = str(option["default"]).lower() if option["type"] == "bool" else str(option["default"])
        kind = option["type"] + (": " + ", ".join(option["choices"]) if "choices" in option else "")
        lines.append(f"| `{name}` | {kind} | `{default}` | {plain(option['description'])} |")
    return lines


def generated(role: Path) -> str:
    """Return the generated part of a role's README."""
    spec = yaml.safe_load((role / "meta/argument_specs.yml").read_text(encoding="utf-8"))["argument_specs"]["main"]
    variables = role / "vars/main.yml"
    own = yaml.safe_load(variables.read_text(encoding="utf-8")) if variables.exists() else {}
    promised = own.get(f"__{role.name}_rules", [])
    lines = [BEGIN, f"# {role.name}", "", plain(spec["short_description"]) + ".", ""]
    lines += [f"- {plain(line)}" for line in spec["description"]]
    lines += ["", "## Variables", "", *table(spec["options"])]
    lines += ["", "`qops_hardware_class` names the host's class where it is not found from its GPUs."]
    if promised:
        lines += [
            "",
            "## What it promises",
            "",
            "These rules judge the result, in `verify.yml` and in `qops diagnose`:",
            "",
        ]
        lines += [f"- [{r.code} {r.cause}](../../{r.runbook}): {r.summary}" for r in ALL if r.code in promised]
    return "\n".join([*lines, END])


def page(role: Path) -> str:
    """Return the README as it should be: the generated part anew, the rest as it is."""
    readme = role / "README.md"
    present = readme.read_text(encoding="utf-8") if readme.exists() else ""
    start, end = present.find(BEGIN), present.find(END)
    if start < 0 or end < start:
        return generated(role) + "\n" + (f"\n{present}" if present else "")
    return present[:start] + generated(role) + present[end + len(END) :]


def main(mode: str) -> int:
    """Write or check; return the exit status."""
    stale = []
    for specs in sorted((ROOT / "roles").glob("*/meta/argument_specs.yml")):
        role = specs.parent.parent
        wanted, readme = page(role), role / "README.md"
        if readme.exists() and readme.read_text(encoding="utf-8") == wanted:
            continue
        stale.append(str(readme.relative_to(ROOT)))
        if mode == "--write":
            readme.write_text(wanted, encoding="utf-8")
    if mode == "--check" and stale:
        print(f"not current: {', '.join(stale)}; script/generate_role_docs.py --write mends it", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    if sys.argv[1:] not in (["--write"], ["--check"]):
        sys.exit("usage: script/generate_role_docs.py --write | --check")
    sys.exit(main(sys.argv[1]))
