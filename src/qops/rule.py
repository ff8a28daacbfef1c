"""A rule: a pure function of evidence that says what is wrong, why, and what mends it."""

import inspect
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from qops.evidence.text import Quote

Evidence = Mapping[type, Any]


class Severity(StrEnum):
    """How much it matters. `info` never makes a verdict."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Role(StrEnum):
    """What a finding is to the whole: only a `cause` can come first."""

    CAUSE = "cause"
    CONTRIBUTING = "contributing"
    SYMPTOM = "symptom"
    INFO = "info"


class Confidence(StrEnum):
    """How strong the evidence is.

    `certain`: a program or the kernel says this very thing, or a measurement leaves nothing else.
    `likely`: independent signs agree and nothing speaks against it. `possible`: one sign, others could explain it.
    """

    CERTAIN = "certain"
    LIKELY = "likely"
    POSSIBLE = "possible"


class Fix(Struct, frozen=True):
    """What mends it (`fix`), or what keeps the service up until it is mended (`workaround`)."""

    text: str
    kind: str = "fix"  # "fix" | "workaround"
    commands: tuple[str, ...] = ()
    risk: str = ""
    needs_reboot: bool = False
    variable: str = ""  # the Ansible variable that sets it
    tag: str = ""  # the Ansible tag that applies it


def about(fixes: tuple[Fix, ...], pid: int | None) -> tuple[Fix, ...]:
    """Return `fixes` with the word PID in their commands replaced by `pid`, when that is known."""
    if pid is None:
        return fixes
    return tuple(replace(f, commands=tuple(re.sub(r"\bPID\b", str(pid), c) for c in f.commands)) for f in fixes)


class Found(Struct, frozen=True):
    """What a rule yields when its fault is there. `message` says what is so, with the values; no full stop."""

    subject: str  # "rank 1 (pid 616, GPU 1)", "GPU 3 (0000:c1:00.0)", "host"
    message: str
    evidence: tuple[Quote, ...]
    confidence: Confidence = Confidence.LIKELY
    severity: Severity | None = None  # None: the rule's own
    role: Role | None = None  # None: the rule's own
    fix: tuple[Fix, ...] = ()  # empty: the rule's own


class RuledOut(Struct, frozen=True):
    """What a rule yields when evidence speaks against its fault where one would expect it."""

    because: str
    evidence: tuple[Quote, ...] = ()


class Untold(Struct, frozen=True):
    """What a rule yields when what it needs was seen and does not tell yet: its fault is unknown, never gone.

    `lacking` names what would tell, as after "… was not seen": "an engine that serves".
    """

    lacking: str


Outcome = Found | RuledOut | Untold
Check = Callable[..., Iterator[Outcome]]


class Rule(Struct, frozen=True):
    """A rule and what it needs. Made by the decorator `rule`."""

    code: str
    cause: str
    family: str
    summary: str
    severity: Severity
    role: Role
    explains: tuple[str, ...]
    fix: tuple[Fix, ...]
    needs: tuple[tuple[str, type], ...]
    wants: tuple[tuple[str, type], ...]
    check: Check

    @property
    def runbook(self) -> str:
        """The page for this cause, relative to the repository."""
        return f"runbooks/{self.family}/{self.code}-{self.cause}.md"

    def missing(self, evidence: Evidence) -> tuple[type, ...]:
        """Return the evidence that the rule needs and that nobody has seen."""
        return tuple(t for _, t in self.needs if t not in evidence)

    def judge(self, evidence: Evidence) -> tuple[Outcome, ...]:
        """Run the rule on `evidence`, which must hold all that it needs."""
        arguments = {name: evidence[t] for name, t in self.needs}
        arguments |= {name: evidence.get(t) for name, t in self.wants}
        return tuple(self.check(**arguments))


def rule(
    code: str,
    cause: str,
    *,
    severity: Severity = Severity.ERROR,
    role: Role = Role.CAUSE,
    explains: tuple[str, ...] = (),
    fix: tuple[Fix, ...] = (),
) -> Callable[[Check], Rule]:
    """Make a `Rule` of a function whose parameters are the evidence that it needs (`X`) or can use (`X | None`).

    `explains` names the findings (symptoms, or causes that are a consequence here) that this cause accounts for.
    The function's docstring is one line: the summary in `qops rules`.
    """

    def make(check: Check) -> Rule:
        needs: list[tuple[str, type]] = []
        wants: list[tuple[str, type]] = []
        for name, annotation in inspect.get_annotations(check, eval_str=True).items():
            if name == "return":
                continue
            if isinstance(annotation, types.UnionType):
                (kind,) = (t for t in typing.get_args(annotation) if t is not types.NoneType)
                wants.append((name, kind))
            else:
                needs.append((name, annotation))
        return Rule(
            code=code,
            cause=cause,
            family=".".join(("", *check.__module__.split("."))).rsplit(".", 2)[-2],
            summary=inspect.cleandoc(check.__doc__ or ""),
            severity=severity,
            role=role,
            explains=explains,
            fix=fix,
            needs=tuple(needs),
            wants=tuple(wants),
            check=check,
        )

    return make
