"""Looking at a host through Ansible's connection."""

from collections.abc import Collection, Sequence
from typing import Any

from qops import collection
from qops.bridge.facts import KINDS
from qops.bridge.transport import AnsibleTransport, Shell
from qops.engine import observe
from qops.errors import UsageError
from qops.probes.base import Probe

Seen = dict[type, Any]


def look(name: str, shell: Shell, kinds: Collection[type], *, seconds: float, special: Collection[Probe] = ()) -> Seen:
    """Return the evidence of `kinds` of a host: each question put once, all of them in one round trip.

    `special` are probes that ask this host something of its own, in place of the common ones of the same name.
    """
    own = {probe.name: probe for probe in special}
    chosen = [own.get(probe.name, probe).once() for probe in KINDS.values() if probe.makes in kinds]
    found = collection.collect(AnsibleTransport(name, shell), chosen, seconds=seconds)
    return observe(found.texts, found.gaps, chosen)


def look_by_name(name: str, shell: Shell, wanted: Sequence[str], *, seconds: float, sampled: bool = False) -> Seen:
    """Return the kinds of evidence `wanted`, by their types' names (all when empty).

    Each question is put once unless `sampled`. UsageError when a kind is not known.
    """
    unknown = sorted(set(wanted) - set(KINDS))
    if unknown:
        raise UsageError(f"no such kind of evidence: {', '.join(unknown)}", f"known: {', '.join(KINDS)}")
    chosen: list[Probe] = [KINDS[kind] for kind in wanted] or list(KINDS.values())
    if not sampled:
        chosen = [probe.once() for probe in chosen]
    found = collection.collect(AnsibleTransport(name, shell), chosen, seconds=seconds)
    return observe(found.texts, found.gaps, chosen)
