"""The filters of qops: see qops.bridge."""

from __future__ import annotations

import typing as t

from qops.bridge import FILTERS


class FilterModule:
    """Hands the filters to Ansible."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Return the filters by name."""
        return FILTERS
