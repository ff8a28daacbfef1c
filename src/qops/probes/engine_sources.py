"""How the engines that run on a host are started. It is no part of a diagnosis: only `qops adopt` asks."""

import re
from collections.abc import Sequence

from qops.evidence.engine_sources import EngineSources
from qops.evidence.text import Text
from qops.probes.base import Command, Probe

_MARK = "== qops"
_LARGEST = 65536  # bytes of a file that a unit names
SCRIPT = f"""LC_ALL=C; export LC_ALL
echo '{_MARK} sources'
for r in docker podman; do
  command -v $r >/dev/null 2>&1 || continue
  ids=$($r ps -q 2>/dev/null) || {{ echo '{_MARK} unread' $r; continue; }}
  [ -n "$ids" ] || continue
  echo '{_MARK} inspect' $r
  $r inspect --type=container $ids
  $r image inspect $($r inspect --type=container --format '{{{{.Image}}}}' $ids | sort -u) 2>/dev/null
  echo
done
# Brackets, so that this script is not taken for an engine.
for u in $(ps -eo unit=,args= | grep -E '[v]llm serve|[s]glang serve|-m ([v]llm|[s]glang)\\.' |
           sed -n -e 's/^\\([^ ]*\\.service\\) .*/\\1/p' -e 's/^\\(session-[^ ]*\\.scope\\) .*/\\1/p' | sort -u); do
  echo "{_MARK} unit $u"
  systemctl cat -- "$u" 2>/dev/null
  systemctl cat -- "$u" 2>/dev/null | sed -n 's/^EnvironmentFile=-\\{{0,1\\}}//p' | while read -r f; do
    [ -f "$f" ] && [ -r "$f" ] || continue
    echo "{_MARK} file $f"; head -c {_LARGEST} "$f"; echo
  done
  for f in $(systemctl show -p ExecStart --value -- "$u" 2>/dev/null |
             sed -n 's/.*argv\\[\\]=\\([^;]*\\) ;.*/\\1/p' | cut -d ' ' -f 1,2); do
    case $f in /*) [ -f "$f" ] || continue ;; *) continue ;; esac
    if head -n 1 "$f" | grep -qaE '^#!.*[/ ](ba|da)?sh( |$)'; then
      echo "{_MARK} file $f"; head -c {_LARGEST} "$f"; echo
    fi
  done
  for b in $(ps -eo unit=,args= | sed -n "s#^$u .* \\(/[^ ]*\\)/bin/\\(vllm\\|sglang\\) .*#\\1#p" | sort -u); do
    for d in "$b"/lib/python3*/site-packages/vllm-*.dist-info "$b"/lib/python3*/site-packages/sglang-*.dist-info; do
      [ -d "$d" ] && echo "{_MARK} version $u ${{d##*/}}"
    done
  done
done
true
"""
_HEAD = re.compile(rf"{_MARK} (inspect|unit|file) (\S{{1,400}})\s*$")
_UNREAD = re.compile(rf"{_MARK} unread (docker|podman)\s*$")
_VERSION = re.compile(rf"{_MARK} version (\S{{1,300}}) (?:vllm|sglang)-([\w.+]{{1,60}})\.dist-info\s*$")


def recognise(text: Text) -> bool:
    """Return whether `text` is the answer of this probe's script."""
    return text.lines[:1] == (f"{_MARK} sources",)


def parse(texts: Sequence[Text]) -> EngineSources | None:
    """Return what the first answer of this probe's script says."""
    for text in texts:
        if recognise(text):
            return _sources(text.lines[1:])
    return None


def _sources(lines: Sequence[str]) -> EngineSources:
    parts: dict[str, dict[str, list[str]]] = {"inspect": {}, "unit": {}, "file": {}}
    versions: dict[str, str] = {}
    unread: list[str] = []
    into: list[str] = []
    for line in lines:
        if head := _HEAD.match(line):
            into = parts[head[1]][head[2]] = []  # two units may name one file
        elif version := _VERSION.match(line):
            versions[version[1]] = version[2].partition("+")[0]
        elif silent := _UNREAD.match(line):
            unread.append(silent[1])
        else:
            into.append(line)
    inspected, units, files = (
        {name: "\n".join(part) + "\n" for name, part in parts[kind].items()} for kind in ("inspect", "unit", "file")
    )
    return EngineSources(inspected, units, files, versions, tuple(unread))


PROBE = Probe(
    name="engine_sources",
    makes=EngineSources,
    parse=parse,
    recognise=recognise,
    asks=(
        Command(
            ("sh", "-c", SCRIPT),
            "how the engines that run are started",
            timeout=20.0,
            root=True,
            name="engine sources",
        ),
    ),
    families=(),
)
