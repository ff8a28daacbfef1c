"""What was seen of a host in this run of Ansible, as long as nothing was changed there since.

A run that changes nothing then looks once at each host, however many roles it has.
"""

import os
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import msgspec

from qops import plans
from qops.bridge.facts import KINDS, evidence, facts
from qops.bridge.looking import Seen, look
from qops.bridge.transport import Shell
from qops.evidence.text import Gaps
from qops.probes.base import Probe


class Remembered:
    """The evidence of one host in a file of Ansible's own folder for this run, which goes when the run ends."""

    def __init__(self, folder: str, host: str) -> None:
        self._host = host
        self._path = Path(folder) / f"qops-seen-{host.replace('/', '_')}.json"

    def forget(self) -> None:
        """Something on the host is changed now: what was seen is no longer so."""
        self._path.unlink(missing_ok=True)

    def look(
        self,
        shell: Shell,
        kinds: Collection[type],
        *,
        seconds: float,
        fresh: bool = False,
        special: Collection[Probe] = (),
        ahead: Collection[type] = (),
    ) -> Seen:
        """Return the evidence of `kinds`, asking the host only for what was not seen in this run; all when `fresh`.

        `special` are probes with questions of their own, which are always put. `ahead` is what others will want soon:
        it is seen along where the host has to be asked anyway.
        """
        if fresh:
            self.forget()
        asked, known = self._load()
        own = {probe.makes for probe in special}
        missing = {kind for kind in kinds if kind is not Gaps and (kind.__name__ not in asked or kind in own)}
        if missing:
            also = {kind for kind in ahead if kind.__name__ not in asked and kind not in own}
            found = look(self._host, shell, missing | also, seconds=seconds, special=special)
            # What did not answer before, and was asked again, is judged by the answer of now.
            again = {KINDS[kind.__name__].name for kind in missing | also}
            before = (gap for gap in known.get(Gaps, Gaps()).gaps if gap.probe not in again)
            gaps = Gaps((*before, *found.get(Gaps, Gaps()).gaps))
            known = {kind: value for kind, value in known.items() if kind not in missing} | found | {Gaps: gaps}
            # What did not answer is asked again by whoever wants it next.
            self._save({*asked, *(kind.__name__ for kind in (missing | also) - own if kind in found)}, known)
        return {kind: value for kind, value in known.items() if kind in kinds or kind is Gaps}

    def _load(self) -> tuple[set[str], Seen]:
        try:
            stored = msgspec.json.decode(self._path.read_bytes())
            return set(stored["asked"]), evidence(stored["seen"])
        except (OSError, ValueError, KeyError, TypeError):
            return set(), {}

    def _save(self, asked: Collection[str], seen: Mapping[type, Any]) -> None:
        kept = {kind: value for kind, value in seen.items() if kind is Gaps or kind.__name__ in asked}
        handle, name = tempfile.mkstemp(dir=self._path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(msgspec.json.encode({"asked": sorted(asked), "seen": facts(kept)}))
        Path(name).replace(self._path)


def wanted_soon(tags: Collection[str], skipped: Collection[str]) -> set[type]:
    """Return the evidence from which the roles of a whole run plan; nothing where `tags` choose some of them."""
    if "all" not in tags:
        return set()
    return {kind for plan in plans.ALL if plan.role not in (*skipped, "reboot") for kind in plan.kinds}
