"""Runbooks: the pages, what in them reads and what changes, and the record of having followed one."""

from qops.runbook.library import find, folder, of_kind, of_rule, text

__all__ = ["find", "folder", "of_kind", "of_rule", "text"]
