"""A shell on the host of an Ansible action."""

import contextvars
from typing import Any

from qops.bridge.transport import Shell


def shell_of(action: Any) -> Shell:
    """Return what runs a script on the host of `action` (an ActionBase) through its connection."""
    # Ansible keeps the task in context variables, which the threads of a sampled look do not inherit.
    context = contextvars.copy_context()
    become = action._connection.become
    piped = action._connection.has_pipelining and (become is None or become.pipelining)

    def run(script: str) -> tuple[int, str, str]:
        # By standard input where the connection has it: an argument may hold 128 KiB, and sudo quotes it once more.
        # It also keeps ssh from making a terminal, which would mix the two outputs.
        argument, given = ("/bin/sh -s", script.encode("utf-8", "surrogateescape")) if piped else (script, None)
        done = context.run(action._low_level_execute_command, argument, sudoable=True, in_data=given)
        return done["rc"], done["stdout"], done["stderr"]

    return run
