"""Looking at a host through Ansible's connection."""

import time
from collections.abc import Collection, Sequence
from typing import Any

from msgspec.structs import replace

from qops import collection
from qops.bridge.facts import KINDS
from qops.bridge.transport import AnsibleTransport, Shell
from qops.engine import observe
from qops.errors import UsageError
from qops.evidence.readiness import Clock
from qops.probes.base import Probe

Seen = dict[type, Any]


def look(name: str, shell: Shell, kinds: Collection[type], *, seconds: float, special: Collection[Probe] = ()) -> Seen:
    """Return the evidence of `kinds` of a host: each question put once, all of them in one round trip.

    `special` are probes that ask this host something of its own, in place of the common ones of the same name.
    """
    own = {probe.name: probe for probe in special}
    chosen = [own.get(probe.name, probe).once() for probe in KINDS.values() if probe.makes in kinds]
    begun = time.monotonic()
    found = collection.collect(AnsibleTransport(name, shell), chosen, seconds=seconds)
    seen = observe(found.texts, found.gaps, chosen)
    clock = seen.get(Clock)
    if clock is not None and (clock.ahead or 0) > 0:
        # Of that, the question and the answer may have been on their way: a busy controller puts it long after.
        seen[Clock] = replace(clock, ahead=max(0, int(clock.ahead - (time.monotonic() - begun))))
    return seen


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
