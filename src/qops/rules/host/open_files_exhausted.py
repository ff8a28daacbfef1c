"""HST019: a process may not open more files."""

from collections.abc import Iterator

from qops.data.messages import process
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Fix, Found, RuledOut, rule


@rule(
    "HST019",
    "open-files-exhausted",
    explains=("job-failed", "engine-core-failed", "nccl-error", "peer-closed-connection", "program-failed"),
    fix=(
        Fix(
            "raise the limit of the program that said so: `LimitNOFILE=` of its unit, `--ulimit nofile=` of its "
            "container",
            commands=("systemctl show -p LimitNOFILE UNIT", "grep 'open files' /proc/PID/limits"),
        ),
    ),
)
def open_files_exhausted(logs: Logs) -> Iterator[Found | RuledOut]:
    """A process may not open more files."""
    hits = logs.find(process.OPEN_FILES)
    own = tuple(h for h in hits if not h.groups.get("watch") and not h.groups.get("warned"))
    if own:
        text = "a program reached its limit of open files; sockets and shared memory count as files"
        yield Found("process", text, quotes(own, 2), Confidence.CERTAIN)
    elif hits:
        because = (
            "it was file watches that ran out (fs.inotify.max_user_instances), not files"
            if hits[0].groups.get("watch")
            else "a program only warns that its limit may be too low"
        )
        yield RuledOut(because, quotes(hits, 1))
