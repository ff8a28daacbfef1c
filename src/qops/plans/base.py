"""What a plan is: everything that a role would set on a host, as it should be, as it is, and why."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from qops.derive.derived import Derived
from qops.derive.hardware_class import HardwareClass
from qops.derive.setting import Setting, State
from qops.probes.base import Probe

Seen = Mapping[type, Any]
"""Evidence by its type; what nobody saw is missing."""

Options = Mapping[str, Any]
"""A role's variables without the role's name: the defaults, and over them what the inventory says."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What one role means a host to be.

    `refused` are reasons why the role must not go on; `unsafe` reasons why serving would be unsafe as the host is
    now, which matter when the role is told not to manage its area. Each says what is wrong and what to do.
    `notes` are for a person, and nothing is done about them. `facts` is plain data for tasks and templates.
    `intent` is what the inventory chose over what is derived, as the rules know the settings ("vm.swappiness").
    """

    settings: tuple[Setting, ...] = ()
    refused: tuple[str, ...] = ()
    unsafe: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    intent: Mapping[str, str] = field(default_factory=dict)

    @property
    def differs(self) -> bool:
        """Whether anything is not as it should be."""
        return any(s.state is State.DIFFERS for s in self.settings)

    @property
    def unseen(self) -> tuple[str, ...]:
        """The settings of which the host did not say how they are."""
        return tuple(s.key for s in self.settings if s.state is State.UNSEEN)


@dataclass(frozen=True, slots=True)
class RolePlan:
    """How the plan of one role is made.

    `kinds` are the evidence that `make` uses; Gpus and PcieTree, which tell the hardware class, are always looked
    at. `defaults` are the role's variables without its name, as in its defaults/main.yml (a test compares them).
    `make` is pure. It raises UsageError for an option that cannot be, and nothing else.
    """

    role: str
    kinds: tuple[type, ...]
    defaults: Options
    make: Callable[[Seen, Derived[HardwareClass], Options], Plan]
    needs_class: bool = True  # False: the role does its work on a host of unknown hardware too
    also: Options = field(default_factory=dict)  # variables of other roles that it uses, by full name, with defaults
    asks: Callable[[Options], tuple[Probe, ...]] = lambda options: ()  # probes whose questions depend on the options


@dataclass(frozen=True, slots=True)
class Planned:
    """The plan of one role for one host. `failed` lists why the role would stop; empty when it would not."""

    role: str
    hardware: Derived[HardwareClass]
    manage: bool
    plan: Plan
    failed: tuple[str, ...]
