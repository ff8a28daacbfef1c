"""A page of Markdown, and the shell blocks in it: which of them only read, and which change something.

The heading above a block decides: what stands under Mitigation, Change or Undo changes something. A block that is
otherwise says so behind its language: `bash reads`, `bash changes`. A block that cannot be run on a practice host says
`by hand`; the page says why.
"""

import re

from msgspec import Struct

UNDO = "Undo"
CHANGING = ("Mitigation", "Change", UNDO)
_FENCE = re.compile(r"^```(\S*)[ ]?(.*)$")
_ASSIGNMENT = re.compile(r"^([A-Za-z_]\w*)=(\"[^\"$`\\]*\"|'[^']*'|[\w./:@%+,-]*)$")
# Commands of the machine from which hosts are managed; all others are the host's own, as is the judgement of an image
# or of a model that lies there, and what measures its GPUs.
_HERE = re.compile(r"^(?:sudo )?(?:qops(?! probe\b)|ansible|ansible-playbook)\s(?!.*--(?:image|model|rootfs)\b)")


class Step(Struct, frozen=True):
    """Commands that run together: one block of a page, or that part of it which belongs to one machine.

    `given` are the assignments above it on the page that it uses, which a reader's shell would still have.
    """

    heading: str
    script: str
    changes: bool
    here: bool  # a command of qops or Ansible, which runs where the inventory is
    by_hand: bool = False
    given: tuple[str, ...] = ()


class Page(Struct, frozen=True):
    """A runbook page. `kind` is the family of its rule, or the folder that it stands in."""

    name: str
    kind: str
    title: str
    text: str
    headings: tuple[str, ...]
    steps: tuple[Step, ...]


def parse(name: str, kind: str, text: str) -> Page:
    """Read a page; total: whatever the text is, what is not there is left out."""
    title, heading, info = name, "", ""
    headings: list[str] = []
    steps: list[Step] = []
    given: dict[str, str] = {}
    block: list[str] | None = None
    for line in text.splitlines():
        fence = _FENCE.match(line)
        if fence and block is None:
            block, info = [], f"{fence[1]} {fence[2]}".strip()
        elif fence and block is not None:
            if info.split()[:1] == ["bash"]:
                steps += _steps(heading, info.split()[1:], block, given)
            block = None
        elif block is not None:
            block.append(line)
        elif line.startswith("# ") and title == name:
            title = line[2:].strip()
        elif line.startswith("## "):
            heading = line[3:].strip()
            headings.append(heading)
    return Page(name, kind, title, text, tuple(headings), tuple(steps))


def _steps(heading: str, marks: list[str], block: list[str], given: dict[str, str]) -> list[Step]:
    """Cut a block where the machine changes, and note what it assigns in `given`."""
    changes = "changes" in marks or (heading in CHANGING and "reads" not in marks)
    found: list[Step] = []
    lines: list[str] = []
    known = dict(given)  # assignments that the step at hand finds

    def end(*, here: bool) -> None:
        if any(line.strip() for line in lines):
            script = "\n".join(lines)
            used = tuple(line for name, line in known.items() if re.search(rf"\$\{{?{name}\b", script))
            found.append(Step(heading, script, changes, here, "hand" in marks, used))
        lines.clear()
        known.clear()
        known.update(given)

    for line in block:
        assigned = _ASSIGNMENT.match(line)
        if assigned:
            given[assigned[1]] = line
            if not lines:
                known[assigned[1]] = line
                continue
        if _HERE.match(line):
            end(here=False)
            lines.append(line)
            end(here=True)
        else:
            lines.append(line)
    end(here=False)
    return found
