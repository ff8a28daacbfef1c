"""What loggers put before a line: kernel times, journal and container names, worker tags, quoting."""

import re

from qops.pattern import lazy

LONGEST = 2000  # characters; no line of a report that is parsed here is longer, and patterns stay fast on less

_PREFIX = lazy(
    r"> ?"  # quoted in a mail or an issue
    r"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.,\d]{0,12}(?:Z|[+-]\d\d:?\d\d) "  # docker logs --timestamps, kubectl logs
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S{1,80} [^\s:]{1,80}: "  # journald, syslog
    r"|[A-Za-z][\w.-]{0,60} *\| "  # docker compose
    r"|\[ *\d{1,9}\.\d{1,9}\] "  # kernel
    r"|\((?:\w{1,30} ){0,2}\w{0,30}pid=\d{1,9}[^)]{0,60}\) ?",  # vLLM and Ray workers
    re.ASCII,
)


def strip(line: str) -> str:
    """Return `line` without what loggers put before it; its indentation stays. Longer lines are cut at LONGEST."""
    rest = line[:LONGEST]
    for _ in range(3):
        found = _PREFIX.match(rest)
        if not found:
            break
        rest = rest[found.end() :]
    return rest
