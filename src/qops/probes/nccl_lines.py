"""The shapes of NCCL's log lines, from 2.18 to now, and where in a line its messages stand.

Confirmed in NVIDIA/nccl: src/debug.cc (prefixes), init.cc, transport.cc and transport/*.cc, bootstrap.cc, enqueue.cc,
misc/param.cc, ras/*.cc. What differs between versions: the function before `comm` (since 2.20), `[Rank N]` before it
(2.30), `nvmlDev` (since 2.18), a split's commId (until 2.20) or `splitCount` (later), the blank before `- Init START`,
the bus id or device in a channel's brackets, the blank in `Bootstrap :`, the timestamp (2.26) and the function's name
in parentheses (2.30) of a warning.
"""

import re
from collections.abc import Iterator
from itertools import islice

from msgspec import Struct

from qops.pattern import lazy

_MARK = lazy(r"NCCL (INFO|WARN|ATTN)(?: |$)", re.ASCII)
_HEAD = lazy(
    r"(?:(?P<host>[\w.<>-]{1,80}):(?P<pid>\d{1,10}|<pid>):(?:\d{1,10}|<tid>) )?"
    r"\[(?P<device>-?\d{1,4})\](?: \S{1,80}:\d{1,6}(?: \(\w{0,80}\))?)? ?$",
    re.ASCII,
)
_HEAD_LENGTH = 300  # characters before the mark that are searched for the prefix
_MOST_IN_LINE = 16  # messages of several processes that were printed over each other

COMMUNICATOR = lazy(
    r"(?:\b(?P<function>nccl\w{1,40}) )?\bcomm (?P<pointer>0x[0-9a-f]{1,16}) rank (?P<rank>\d{1,7}) n[rR]anks "
    r"(?P<size>\d{1,7})\b(?P<rest>.{0,400})",
    re.ASCII,
)
DEVICE = lazy(r"cudaDev (?P<device>\d{1,4})\b.{0,40}?\bbusId (?P<bus>[0-9a-f]{1,16})\b", re.ASCII)
COMM_ID = lazy(r"\bcommId (0x[0-9a-f]{1,16})\b", re.ASCII)
PARENT = lazy(
    r"\bparent (?P<parent>0x[0-9a-f]{1,16})(?: \w{1,20} (?P<count>\d{1,7}))? color (?P<color>-?\d{1,10})", re.ASCII
)
STAGE = lazy(r"- (?P<stage>Init START|Init COMPLETE|Destroy|Abort)", re.ASCII)
CHANNEL = lazy(
    r"\bChannel \d{1,5}(?:/\d{1,4})? : (?P<a>\d{1,7})\[[0-9a-f]{1,16}\] -> (?P<b>\d{1,7})\[[0-9a-f]{1,16}\] "
    r"(?:\[\w{1,8}\] )?via (?P<transport>\w.{0,80})",
    re.ASCII,
)
SET = lazy(r"\b(?P<name>NCCL_\w{1,60}) set by environment to (?P<value>.{0,300})", re.ASCII)
REFUSED = lazy(
    r"Invalid value (?P<value>.{0,200}?) for (?P<name>NCCL_\w{1,60}), using default", re.ASCII | re.IGNORECASE
)
NETWORK = lazy(r"\bUsing network (?P<name>\w.{0,60})", re.ASCII)
INTERFACE = lazy(r"\bBootstrap ?: Using (?:\[\d{1,3}\])?(?P<name>[^\s:<]{1,40}):", re.ASCII)
VERSION = lazy(r"NCCL version (?P<version>\d{1,3}\.\d{1,3}\.\d{1,3})(?![\d.])", re.ASCII)
CALL = lazy(
    r"\b(?P<op>\w{1,40}): opCount (?P<number>[0-9a-f]{1,16}) sendbuff \S{1,20} recvbuff \S{1,20} (?:acc \S{1,20} )?"
    r"count (?P<count>\d{1,19}) datatype (?P<datatype>\d{1,3}) .{0,60}?\bcomm (?P<pointer>0x[0-9a-f]{1,16})",
    re.ASCII,
)
RAS = lazy(r"^\s*RAS ", re.ASCII)

# What a line must hold to be read although its `NCCL INFO` was cut off.
BARE = (" via ", "Init START", "Init COMPLETE", "set by environment to", "Connected all ", "nRanks ", "opCount ")


class Part(Struct, frozen=True):
    """One message. `level` is "" when its prefix was cut off."""

    level: str
    body: str
    host: str = ""
    pid: int | None = None
    device: int | None = None


def parts(line: str) -> Iterator[Part]:
    """Yield the NCCL messages in `line`: several when processes printed over each other."""
    marks = [*islice(_MARK.finditer(line), _MOST_IN_LINE)]
    if not marks:
        if any(word in line for word in BARE):
            yield Part("", line)
        return
    ends = [0, *(m.end() for m in marks)]
    heads = [_head(line, end, m.start()) for end, m in zip(ends, marks, strict=False)]
    for i, mark in enumerate(marks):
        end = len(line)
        if i + 1 < len(marks):
            following = heads[i + 1]
            end = following.start() if following else marks[i + 1].start()
        head = heads[i]
        body = line[mark.end() : max(end, mark.end())]
        if head is None:
            yield Part(mark[1], body)
        else:
            pid = head["pid"]
            yield Part(
                mark[1],
                body,
                head["host"] or "",
                int(pid) if pid and pid != "<pid>" else None,
                int(head["device"]),
            )


def _head(line: str, start: int, end: int) -> re.Match[str] | None:
    return _HEAD.search(line, max(start, end - _HEAD_LENGTH), end)
