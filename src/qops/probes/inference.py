"""The inference services of a host: their units, what they were started with, and what the watch saw last."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from qops.evidence.inference import InferenceService, InferenceServices
from qops.evidence.text import Text
from qops.pattern import lazy
from qops.probes.base import Command, Probe

FOLDER = "/etc/qops/serve"
_HEAD = "== inference services"
_SHOWN = "LoadState,ActiveState,SubState,Result,ExecMainStatus,NRestarts,NeedDaemonReload,InvocationID"
# Of the secrets only whether they are what the service was started with: not even their hashes leave the host.
SCRIPT = f"""LC_ALL=C; export LC_ALL
echo '{_HEAD}'
for f in {FOLDER}/*.json; do
  [ -e "$f" ] || continue
  n=${{f##*/}}; n=${{n%.json}}; u=qops-serve-$n.service; run=/run/qops/serve/$n
  echo "service: $n"
  systemctl show -p {_SHOWN} -- "$u" 2>/dev/null
  echo "timer=$(systemctl is-active "qops-serve-watch@$n.timer" 2>/dev/null)"
  for p in "/etc/systemd/system/$u" {FOLDER}/$n.env {FOLDER}/$n.json; do
    [ -r "$p" ] && sha256sum "$p" | sed 's/^/disk: /'
  done
  grep -shv '\\.secret$' $run/started | sed 's/^/started: /'
  if [ -r $run/started ]; then
    secret=$(sed -n 's/ .*\\.secret$//p' $run/started)
    now=$(sha256sum {FOLDER}/$n.secret 2>/dev/null); now=${{now%% *}}
    [ "${{secret:--}}" = "${{now:--}}" ] || echo 'secret: changed'
    while read -r sum p; do
      case $p in "/etc/systemd/system/$u"|{FOLDER}/$n.*) continue ;; esac
      now=$(sha256sum "$p" 2>/dev/null)
      [ "${{now%% *}}" = "$sum" ] || echo "moved: $p"
    done <$run/started
  fi
  if [ -r $run/image ]; then
    read -r id runtime image <$run/image
    now=$(timeout 10 "$runtime" image inspect --format '{{{{.Id}}}}' "$image" 2>/dev/null)
    [ -z "$now" ] || [ "$now" = "$id" ] || echo "moved: image $image from $id to $now"
  fi
  [ -r $run/ready ] && echo "ready: $(cat $run/ready)"
  [ -r $run/held ] && echo "held: $(head -n 1 $run/held)"
  [ -r $run/watch.json ] && echo "failures: $(sed 's/.*"failures": \\([0-9]*\\).*/\\1/' $run/watch.json)"
  ls -1d /var/lib/qops/serve/$n/incidents/2* 2>/dev/null | tail -n 1 | sed 's/^/incident: /'
done
true
"""
_SERVICE = lazy(r"service: ([a-z0-9][a-z0-9-]{0,40})\s*$")
_PAIR = lazy(r"([A-Za-z]{1,40})=([\w.-]{0,100})\s*$")
_FILE = lazy(r"(disk|started): ([0-9a-f]{64}|-) {1,2}(/\S{1,300})\s*$")
_WORD = lazy(r"(secret|ready|held|failures|incident): (.{1,1000}?)\s*$")
_MOVED = lazy(r"moved: (\S.{0,1000}?)\s*$")
_NUMBER = lazy(r"[0-9]{1,9}")


def recognise(text: Text) -> bool:
    """Return whether `text` is the answer of this probe's script."""
    return any(line.strip() == _HEAD for line in text.lines)


def parse(texts: Sequence[Text]) -> InferenceServices | None:
    """Return what the first such text says."""
    for text in texts:
        for index, line in enumerate(text.lines):
            if line.strip() == _HEAD:
                found = {one.name: one for one in _services(text, index + 1)}
                return InferenceServices(found, text.quote(index))
    return None


def _services(text: Text, start: int) -> Iterator[InferenceService]:
    lines = range(start, len(text.lines))
    end = next((i for i in lines if text.lines[i].startswith("== ")), len(text.lines))
    heads = [i for i in lines if i < end and _SERVICE.match(text.lines[i])]
    for head, following in pairwise([*heads, end]):
        yield _service(text, head, following)


def _service(text: Text, start: int, end: int) -> InferenceService:
    head = _SERVICE.match(text.lines[start])
    shown: dict[str, str] = {}
    files: dict[str, dict[str, str]] = {"disk": {}, "started": {}}
    words: dict[str, str] = {}
    moved: list[str] = []
    for line in text.lines[start + 1 : end]:
        if pair := _PAIR.match(line):
            shown[pair[1]] = pair[2]
        elif file := _FILE.match(line):
            files[file[1]][file[3]] = file[2]
        elif other := _MOVED.match(line):
            moved.append(other[1])
        elif word := _WORD.match(line):
            words[word[1]] = word[2]
    found: dict[str, Any] = {
        "active": shown.get("ActiveState", ""),
        "sub": shown.get("SubState", ""),
        "result": shown.get("Result", ""),
        "status": _number(shown.get("ExecMainStatus", "")),
        "restarts": _number(shown.get("NRestarts", "")) or 0,
        "ready": bool(shown.get("InvocationID")) and words.get("ready") == shown.get("InvocationID"),
        "failures": _number(words.get("failures", "")) or 0,
    }
    return InferenceService(
        name=head[1] if head else "",
        quote=text.quote(start),
        loaded=shown.get("LoadState") == "loaded",
        held=words.get("held", ""),
        watched=shown.get("timer") == "active",
        stale=shown.get("NeedDaemonReload") == "yes",
        moved=tuple(moved),
        secret_changed=words.get("secret") == "changed",
        on_disk=files["disk"],
        started=files["started"],
        incident=words.get("incident", ""),
        **found,
    )


def _number(text: str) -> int | None:
    return int(text) if _NUMBER.fullmatch(text) else None


PROBE = Probe(
    name="inference",
    makes=InferenceServices,
    parse=parse,
    recognise=recognise,
    asks=(
        Command(
            ("sh", "-c", SCRIPT),
            "the inference services, what they were started with, and whether tokens come",
            name="inference services",
            root=True,
        ),
    ),
    families=("serve",),
)
