"""What the checker has to say of one option, variable or combination."""

from enum import StrEnum

import msgspec


class Severity(StrEnum):
    """How bad it is.

    `error`: the engine refuses it, or serves something else than was meant; `warning`: it does nothing, or will not
    work for long; `info`: worth knowing.
    """

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Kind(StrEnum):
    """What is the matter."""

    UNKNOWN = "unknown"
    RENAMED = "renamed"
    REMOVED = "removed"
    TOO_NEW = "too-new"
    DEPRECATED = "deprecated"
    TYPE = "wrong-type"
    CHOICE = "wrong-choice"
    PREFIX = "ambiguous-prefix"
    SHORTENED = "shortened"
    PARSER = "unknown-parser"
    VARIABLE = "unread-variable"
    REPEATED = "repeated"
    COMBINATION = "combination"
    COMMAND = "command"
    IMAGE = "image"
    VERSION = "version"


class Remark(msgspec.Struct, frozen=True, omit_defaults=True):
    """One remark. `flag` is the option or variable as it was written; `line` counts from 1 in `source`, 0 is none."""

    kind: Kind
    severity: Severity
    flag: str
    message: str
    instead: str = ""
    source: str = ""
    line: int = 0
