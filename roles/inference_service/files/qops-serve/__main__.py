"""qops-serve: looks after the inference services of this host. Needs Python 3.9 and systemd.

qops-serve-ready NAME [--wait SECONDS] [--json]   whether a service answers with a token that it generates now
qops-serve-watch NAME                             one look by the timer; a hung engine is recorded and restarted
qops-serve-start allow NAME                       start a service again that took the machine down while it started
qops-serve-start begin|check|end NAME             what its unit runs
"""

from __future__ import annotations

import json
import sys
import time

import ready
import start
import watch
from instance import Instance, Strange, read

NOT_YET = 3
USAGE = 2


def main(arguments: list[str]) -> int:
    """Do one command; return the exit status."""
    command, words = (arguments[0], arguments[1:]) if arguments else ("", [])
    try:
        if command == "ready":
            return _ready(words)
        if command == "watch" and len(words) == 1:
            return watch.once(read(words[0]))
        if command == "start" and len(words) == 2 and words[0] in start.STEPS:
            return start.STEPS[words[0]](read(words[1]))
    except Strange as error:
        print(f"qops-serve: {error}", file=sys.stderr)
        return 1
    print(__doc__, file=sys.stderr)
    return USAGE


def _ready(words: list[str]) -> int:
    names, seconds = [w for w in words if not w.startswith("--")], 0.0
    if "--wait" in words:
        given = words[words.index("--wait") + 1 :][:1]
        if not given or not given[0].isdigit():
            raise Strange("--wait takes a number of seconds")
        seconds = float(given[0])
        names = [w for w in names if w != given[0]] if len(names) > 1 else names
    if len(names) != 1 or any(w.startswith("--") and w not in ("--wait", "--json") for w in words):
        print(__doc__, file=sys.stderr)
        return USAGE
    instance: Instance = read(names[0])
    began = time.monotonic()
    found = ready.waited(instance, seconds)
    if "--json" in words:
        told = {"name": instance.name, "state": found.state, "detail": found.detail}
        print(json.dumps({**told, "seconds": round(time.monotonic() - began, 1)}))
    else:
        print(f"{instance.name}: {found.state}: {found.detail}")
    return 0 if found.ready else NOT_YET if found.may_come else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
