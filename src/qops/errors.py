"""Every error that qops raises on purpose, and the exit status that each one means.

* QopsError                70  something in qops itself is wrong (also any unexpected exception)
  * UsageError              2  the command line or a configuration file is wrong
  * EvidenceError           3  evidence could not be read, so no verdict is complete
    * ParseError            3  one text is not what its probe expects; names source and line
    * BundleError           3  a bundle is damaged, too large or unsafe
  * TransportError          4  a host cannot be reached

A verdict has the statuses 0 (healthy), 1 (fault), 3 (undetermined or incomplete) and 4 (unreachable).
"""

HEALTHY, FAULT, USAGE, INCOMPLETE, UNREACHABLE, INTERNAL, INTERRUPTED = 0, 1, 2, 3, 4, 70, 130


class QopsError(Exception):
    """Base of all errors: `message` says what and why, `hint` says what to do."""

    exit_code = INTERNAL

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(QopsError):
    """The command line or a configuration file is wrong."""

    exit_code = USAGE


class EvidenceError(QopsError):
    """Evidence could not be read."""

    exit_code = INCOMPLETE


class ParseError(EvidenceError):
    """A text is not what its probe expects. `line` counts from 1; 0 means the text as a whole."""

    def __init__(self, source: str, line: int, message: str) -> None:
        super().__init__(f"{source}:{line}: {message}")
        self.source = source
        self.line = line
        self.reason = message


class BundleError(EvidenceError):
    """A bundle is damaged, too large or unsafe."""


class TransportError(QopsError):
    """A host cannot be reached."""

    exit_code = UNREACHABLE
