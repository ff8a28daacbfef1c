"""Commands that never keep this program: one that cannot be killed (it waits for a driver) is left behind."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass

LARGEST = 2 << 20  # bytes of an answer that are kept: the last ones
_STEP = 0.05


@dataclass(frozen=True)
class Done:
    """What a command answered. `status` None: it did not end in time, or could not be started."""

    status: int | None
    text: str

    @property
    def well(self) -> bool:
        """Whether it ended with 0."""
        return self.status == 0


def run(argv: Sequence[str], seconds: float = 10.0) -> Done:
    """Run a command for at most `seconds`; its standard output and error come together."""
    # In memory: a full disk must not keep anybody from asking. No pipe: what is left behind would hold it.
    with os.fdopen(os.memfd_create("said"), "w+b") as out:
        try:
            process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)
        except OSError as error:
            return Done(None, f"{argv[0]}: {error.strerror}\n")
        end = time.monotonic() + seconds
        while process.poll() is None and time.monotonic() < end:
            time.sleep(_STEP)
        status = process.poll()
        if status is None:
            process.kill()  # and it is not waited for
        out.seek(max(0, out.seek(0, 2) - LARGEST))
        text = out.read().decode(errors="replace")
    if status is None:
        text += f"\n{argv[0]}: no end after {seconds:.0f} s\n"
    return Done(status, text)
