"""The GPUs as running containers see them: a container can lose them, and the host shows nothing of it."""

from collections.abc import Sequence

from qops.evidence.container import ContainerGpus, GpusInContainers
from qops.evidence.text import Quote, Text
from qops.pattern import lazy
from qops.probes.base import Command, Probe
from qops.probes.process_script import NO_GPU

# Asked only in containers that were given GPUs, 16 at most. The cgroup's device rules cannot be read from outside:
# since cgroup v2 they are a program in the kernel. Where a container does not see its GPUs, the reloads of systemd
# since its start are shown: they are what takes the GPUs away (NVIDIA container toolkit, troubleshooting). Where the
# kernel has no NVIDIA device, no container has one; a practice host shows its own below QOPS_ROOT.
SCRIPT = (
    NO_GPU
    + r"""
[ -z "$QOPS_ROOT" ] && no_gpu && exit 0
limit() { if command -v timeout >/dev/null; then timeout -s KILL "$@"; else shift; "$@"; fi; }
for engine in docker podman; do
  command -v $engine >/dev/null || continue
  ids=$(limit 3 $engine ps -q 2>/dev/null | head -n 64)
  [ -n "$ids" ] || continue
  limit 5 $engine inspect -f '{{.Name}} {{.State.StartedAt}} {{json .HostConfig}}' $ids 2>/dev/null \
      | grep -E '"Runtime":"nvidia"|\[\["gpu"|"Driver":"nvidia"|nvidia\.com/gpu|"/dev/nvidia' | head -n 16 \
      | while read -r name started rest; do
    name=${name#/}
    echo "== gpus in container $name"
    seen=$(limit 5 $engine exec "$name" nvidia-smi -L </dev/null 2>&1 | grep -E '^GPU [0-9]|NVML' | head -n 16)
    [ -z "$seen" ] || echo "$seen"
    case $seen in *"initialize NVML"*)
      since=$(date -d "$started" +@%s 2>/dev/null) && command -v journalctl >/dev/null \
        && limit 5 journalctl -b -q --no-pager -o short-iso --since "$since" _PID=1 2>/dev/null \
        | grep -E 'systemd\[1\]: (Reload(ing|ed)|Reexecut)' | grep -v '\.service' | tail -n 2 ;;
    esac
  done
done
true
"""
)

_HEAD = lazy(r"== gpus in container (\S{1,200})\s*$")
_GPU = lazy(r"GPU [0-9]{1,3}: \S")
_ERROR = lazy(r"Failed to initialize NVML: (\S.{0,200})")
_RELOAD = lazy(r".{0,200}\bsystemd\[1\]: Re(?:load|exec)")


def recognise(text: Text) -> bool:
    """Return whether `text` is such an answer."""
    return any(line.startswith("== gpus in container ") and _HEAD.match(line) for line in text.lines)


def parse(texts: Sequence[Text]) -> GpusInContainers | None:
    """Return one view for each container that was asked and said anything."""
    views = [view for text in texts for view in _read(text)]
    asked = any(text.probe == PROBE.name for text in texts)
    return GpusInContainers(tuple(views)) if views or asked else None


def _read(text: Text) -> list[ContainerGpus]:
    blocks: list[tuple[str, list[int]]] = []
    for index, line in enumerate(text.lines):
        if head := _HEAD.match(line):
            blocks.append((head[1], []))
        elif blocks:
            blocks[-1][1].append(index)
    return [view for name, indexes in blocks if (view := _view(text, name, indexes))]


def _view(text: Text, name: str, indexes: list[int]) -> ContainerGpus | None:
    gpus: list[Quote] = []
    reloads: list[Quote] = []
    failed: tuple[str, Quote] | None = None
    for index in indexes:
        line = text.lines[index][:2000]
        if _GPU.match(line):
            gpus.append(text.quote(index))
        elif error := _ERROR.match(line):
            failed = failed or (error[1].strip(), text.quote(index))
        elif _RELOAD.match(line):
            reloads.append(text.quote(index))
    if failed:
        return ContainerGpus(name, failed[1], len(gpus), failed[0], tuple(reloads))
    return ContainerGpus(name, gpus[0], len(gpus)) if gpus else None


PROBE = Probe(
    name="container_gpus",
    makes=GpusInContainers,
    parse=parse,
    recognise=recognise,
    asks=(
        Command(
            ("sh", "-c", SCRIPT),
            "whether containers that were given GPUs still see them (`nvidia-smi -L` inside, and nothing else)",
            timeout=25.0,
            root=True,
            live_only=True,
            name="nvidia-smi -L in containers",
        ),
    ),
)
