"""qops-serve: looks after the inference services of this host. Needs Python 3.9 and systemd.

qops-serve-ready NAME [--wait SECONDS] [--json]   whether a service answers with a token that it generates now
qops-serve-watch NAME                             one look by the timer; a hung engine is recorded and restarted
qops-serve-start allow NAME                       start a service again that took the machine down while it started
qops-serve-start begin|check|end NAME             what its unit runs
qops-serve-change list NAME ...                   the releases that are kept, and which is in force
qops-serve-change back NAME ... --to RELEASE      go back to a release, or to the "previous" one
qops-serve-change begin|go|off NAME ...           what the role runs before and after it writes new files, or wrote none
"""

from __future__ import annotations

import json
import os
import sys
import time

import change
import ready
import start
import watch
from instance import Instance, Strange, read

NOT_YET = 3
USAGE = 2
WAIT = 900.0  # seconds for a token


def main(arguments: list[str]) -> int:
    """Do one command; return the exit status."""
    command, words = (arguments[0], arguments[1:]) if arguments else ("", [])
    try:
        if command == "ready":
            return _ready(words)
        if command == "change":
            return _change(words)
        if command == "watch" and len(words) == 1:
            return watch.once(read(words[0]))
        if command == "start" and len(words) == 2 and words[0] in start.STEPS:
            return start.STEPS[words[0]](read(words[1]))
    except (Strange, OSError) as error:
        print(f"qops-serve: {error}", file=sys.stderr)
        return start.AGAIN if (command, words[:1]) == ("start", ["begin"]) else 1
    print(__doc__, file=sys.stderr)
    return USAGE


def _ready(words: list[str]) -> int:
    names, options = _taken(words, "--wait")
    as_json = "--json" in names
    names = [word for word in names if word != "--json"]
    if len(names) != 1 or names[0].startswith("--"):
        print(__doc__, file=sys.stderr)
        return USAGE
    instance: Instance = read(names[0])
    began = time.monotonic()
    found = ready.waited(instance, _seconds(options, 0.0))
    if as_json:
        told = {"name": instance.name, "state": found.state, "detail": found.detail}
        print(json.dumps({**told, "seconds": round(time.monotonic() - began, 1)}))
    else:
        print(f"{instance.name}: {found.state}: {found.detail}")
    return 0 if found.ready else NOT_YET if found.may_come else 1


def _change(words: list[str]) -> int:
    names, options = _taken(words, "--wait", "--to", "--by")
    verb = names[0] if names else ""
    if verb not in ("begin", "go", "off", "back", "list") or len(names) < 2 or (verb == "back") != ("--to" in options):
        print(__doc__, file=sys.stderr)
        return USAGE
    instances = [read(name) for name in names[1:]]
    if os.geteuid() != 0:
        raise Strange("only root may do that")
    by = options.get("--by") or os.environ.get("SUDO_USER") or "root"
    wait = _seconds(options, WAIT)
    if verb == "begin":
        return change.begin(instances, by)
    if verb == "go":
        return change.go(instances, wait)
    if verb == "off":
        return change.off(instances)
    if verb == "back":
        return change.back(instances, options["--to"], by, wait)
    return max(map(change.show, instances))


def _taken(words: list[str], *names: str) -> tuple[list[str], dict[str, str]]:
    """Take options with a value out of `words`; Strange when one has none."""
    left: list[str] = []
    options: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        if word not in names:
            left.append(word)
        elif (value := next(rest, None)) is None:
            raise Strange(f"{word} takes a value")
        else:
            options[word] = value
    return left, options


def _seconds(options: dict[str, str], otherwise: float) -> float:
    given = options.get("--wait")
    if given is not None and not given.isdigit():
        raise Strange("--wait takes a number of seconds")
    return float(given) if given else otherwise


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
