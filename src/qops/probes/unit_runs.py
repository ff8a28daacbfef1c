"""The runs of a service in its journal: a start that failed before a later one served is no fault of today.

Wording: systemd's src/core/service.c and unit.c (239 to 258), `UNIT: Failed with result 'exit-code'.` and the like.
"""

from collections.abc import Iterator, Sequence

from qops.pattern import lazy

ENDS = ("failed with result", "deactivated successfully", ".service: succeeded")
_END = lazy(r"\bsystemd\[\d{1,10}\]: ([\w@.\\:-]{1,256}\.service): (Failed with result|Deactivated succ|Succeeded)")


def mended(lines: Sequence[str], served: Sequence[int]) -> tuple[range, ...]:
    """Return the lines of the runs of a service that failed before they served, when a later one served.

    `served` are the lines that say that it serves. A run that served before it failed is kept: nobody knows whether
    that is mended. So is all of a journal of several services, in which a line is of one or of another.
    """
    if not served:
        return ()
    ends = list(_ends(lines, max(served)))
    if len({unit for _, unit, _ in ends}) != 1:
        return ()
    found, begin = [], 0
    for end, _, failed in ends:
        run = range(begin, end + 1)
        if failed and not any(line in run for line in served):
            found.append(run)
        begin = end + 1
    return tuple(found)


def _ends(lines: Sequence[str], last: int) -> Iterator[tuple[int, str, bool]]:
    for index, line in enumerate(lines[:last]):
        if ".service: " in line and (end := _END.search(line)):
            yield index, end[1], end[2].startswith("Failed")
