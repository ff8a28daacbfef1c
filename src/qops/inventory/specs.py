"""What variables the roles have: their argument specs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# Variables of qops that belong to no role.
SHARED = ("qops_at_once", "qops_hardware_class", "qops_lab_scenario", "qops_suppress")

# Variables that a role had once: the release that took them away, and what is in their place ("" for nothing).
REMOVED: Mapping[str, tuple[str, str]] = {}


@dataclass(frozen=True, slots=True)
class Spec:
    """One variable: its type as Ansible names it, and what it may hold."""

    type: str = "str"
    elements: str = ""
    choices: tuple[Any, ...] = ()
    options: Mapping[str, "Spec"] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Specs:
    """The variables of all roles by name."""

    roles: tuple[str, ...]
    variables: Mapping[str, Spec]

    def role_of(self, name: str) -> str:
        """Return the role whose name a variable begins with, the longest one; "" for none."""
        return max((r for r in self.roles if name.startswith(f"{r}_")), key=len, default="")


def read(folder: Path) -> Specs:
    """Read the argument specs of all roles in `folder`."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    variables: dict[str, Spec] = {}
    roles = sorted(path.parent.parent.name for path in folder.glob("*/meta/argument_specs.yml"))
    for role in roles:
        text = (folder / role / "meta/argument_specs.yml").read_text(encoding="utf-8")
        content = yaml.load(text, Loader=loader)  # noqa: S506 - a safe loader
        for entry in content["argument_specs"].values():
            variables |= {name: _spec(option) for name, option in entry.get("options", {}).items()}
    return Specs(tuple(roles), variables)


def _spec(option: Mapping[str, Any]) -> Spec:
    return Spec(
        type=str(option.get("type", "str")),
        elements=str(option.get("elements", "")),
        choices=tuple(option.get("choices", ())),
        options={name: _spec(inner) for name, inner in option.get("options", {}).items()},
    )
