"""Callback qops_preload: loads qops once, in Ansible's main process, and every worker that is forked has it."""

from __future__ import annotations

from ansible.plugins.callback import CallbackBase

import qops.bridge.files  # noqa: F401 - that is what this plugin is for: a third of a second for each task without it

DOCUMENTATION = """
name: qops_preload
type: aggregate
short_description: Load qops before the workers are forked
description:
  - Prints nothing. Without it each task of qops imports its rules and probes anew.
"""


class CallbackModule(CallbackBase):
    """Does nothing but be loaded."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "qops_preload"
    CALLBACK_NEEDS_ENABLED = True
