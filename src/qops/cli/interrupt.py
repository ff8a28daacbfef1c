"""Ctrl-C that is noted instead of raised, so that it can come at any moment and nothing is lost by it."""

import signal
import threading
from types import FrameType, TracebackType
from typing import Any

import click


class Interrupt:
    """Notes the first Ctrl-C in `happened`. The second one is raised as KeyboardInterrupt and ends the program."""

    def __init__(self) -> None:
        self.happened = False
        self._before: Any = None

    def __enter__(self) -> "Interrupt":
        # A shell that starts a program in the background has it ignore Ctrl-C, and that holds.
        ours = threading.current_thread() is threading.main_thread()
        if ours and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.happened:
            raise KeyboardInterrupt
        self.happened = True


def noted() -> Interrupt:
    """Return what notes Ctrl-C from now until the command has written its report and ends."""
    context = click.get_current_context(silent=True)
    return context.with_resource(Interrupt()) if context else Interrupt()
