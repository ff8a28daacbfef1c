"""The filters of qops."""

from __future__ import annotations

import typing as t

from qops import bridge
from qops.derive.hardware_class import hardware_class
from qops.evidence.gpu import Gpus
from qops.evidence.pcie import PcieTree


class FilterModule:
    """Hands the filters to Ansible."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Return the filters by name."""
        return {"qops_hardware_class": qops_hardware_class}


def qops_hardware_class(said_evidence: t.Any, said: t.Any = "") -> dict[str, str]:
    """Return the hardware class of a host, and why, from what qops_evidence gave."""
    seen = bridge.evidence(bridge.plain(said_evidence))
    found = hardware_class(seen.get(Gpus), seen.get(PcieTree), said=bridge.plain(said) or "")
    return {"value": str(found.value), "because": found.because}
