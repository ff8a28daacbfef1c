"""Evidence as plain data, and plain data as evidence: what crosses the border to Ansible."""

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from qops import probes
from qops.errors import UsageError
from qops.evidence.text import Gaps
from qops.probes.base import Probe

KINDS: Mapping[str, Probe] = {probe.makes.__name__: probe for probe in probes.ALL}


def facts(evidence: Mapping[type, Any]) -> dict[str, Any]:
    """Return evidence as plain data, by its type's name."""
    return {kind.__name__: msgspec.to_builtins(value, str_keys=True) for kind, value in evidence.items()}


def evidence(plain_facts: Mapping[str, Any]) -> dict[type, Any]:
    """Return plain data as evidence again. UsageError when it is none."""
    types = {Gaps.__name__: Gaps, **{name: probe.makes for name, probe in KINDS.items()}}
    try:
        found: dict[type, Any] = {
            types[name]: msgspec.convert(value, types[name], str_keys=True)
            for name, value in plain_facts.items()
            if name in types
        }
    except (msgspec.ValidationError, AttributeError) as error:
        raise UsageError(f"this is no evidence: {error}", "give what qops_evidence returned") from error
    return {Gaps: Gaps(), **found}


def plain(value: Any) -> Any:
    """Return what Ansible handed over without its tags and lazy templates: plain dicts, lists and strings."""
    return json.loads(json.dumps(value))
