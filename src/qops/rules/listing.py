"""What is known of every rule without importing it: index.json, which script/docs makes of the rules themselves."""

from collections.abc import Collection, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

from qops.evidence.message import Logs
from qops.evidence.text import Gaps
from qops.rule import Rule
from qops.rules import cuda, host, nccl, serve

# The names of each family's rules, which are also those of their modules, in order.
FAMILIES = {"nccl": nccl.NAMES, "cuda": cuda.NAMES, "host": host.NAMES, "serve": serve.NAMES}


class Listed(Struct, frozen=True):
    """A rule that may not have been imported. `needs` and `wants` are names of types of evidence.

    `messages` are the ids of all messages that the rule may look for: without one of them, and without any other
    evidence that it can use, it has nothing to say.
    """

    code: str
    cause: str
    family: str
    name: str  # of its module and of the rule in it
    needs: tuple[str, ...]
    wants: tuple[str, ...]
    messages: tuple[str, ...] = ()
    made: Rule | None = None  # of one that is not in the index

    @classmethod
    def of(cls, rule: Rule) -> "Listed":
        """Return what is known of a rule that exists already; everything concerns it."""
        needs, wants = (tuple(kind.__name__ for _, kind in some) for some in (rule.needs, rule.wants))
        return cls(rule.code, rule.cause, rule.family, rule.cause.replace("-", "_"), needs, wants, made=rule)

    @property
    def rule(self) -> Rule:
        """The rule itself; imports its module."""
        return self.made or loaded(self.family, self.name)

    def missing(self, seen: Collection[str]) -> tuple[str, ...]:
        """Return the evidence that the rule needs and that is not among the types `seen`."""
        return tuple(kind for kind in self.needs if kind not in seen)

    def concerned(self, evidence: Mapping[type, Any], seen: Collection[str], said: frozenset[str]) -> bool:
        """Return whether anything in `evidence`, whose types are `seen`, is for this rule. `said`: ids of messages."""
        if self.made:
            return True
        for kind in (*self.needs, *self.wants):
            if kind == Gaps.__name__:
                if evidence[Gaps].gaps:
                    return True
            elif kind != Logs.__name__ and kind in seen:
                return True
        return not said.isdisjoint(self.messages)


@cache
def loaded(family: str, name: str) -> Rule:
    """Import one rule."""
    return cast(Rule, getattr(import_module(f"qops.rules.{family}.{name}"), name))


def listed() -> tuple[Listed, ...]:
    """Return what the index says of every rule, in the order of the families' lists."""
    return msgspec.json.decode(Path(__file__).with_name("index.json").read_bytes(), type=tuple[Listed, ...])


def said(evidence: Mapping[type, Any]) -> frozenset[str]:
    """Return the ids of the messages that were seen."""
    logs = evidence.get(Logs)
    return frozenset(name for name, _ in logs.counts) if logs else frozenset()
