"""Inventories: which hosts there are, and how to reach each."""

from qops.inventory.host import Host

__all__ = ["Host"]
