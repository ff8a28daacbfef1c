"""Checks options and variables of vLLM and SGLang before anything is written: pure, from `qops.data.engines`."""

from qops.flags.checker import check, check_variables
from qops.flags.command import Assignment, Command, find, made
from qops.flags.remark import Kind, Remark, Severity

__all__ = ["Assignment", "Command", "Kind", "Remark", "Severity", "check", "check_variables", "find", "made"]
