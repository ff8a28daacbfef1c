"""Unit files that were written: whether systemd has to read them anew, and whether it may.

`systemctl daemon-reload` takes the GPUs from running containers that got them by --gpus or the nvidia runtime, where
docker uses systemd's cgroups (NVIDIA container toolkit, troubleshooting). So it is done only where it is needed and
no such container runs; CDI devices survive it.
"""

import shlex
from collections.abc import Sequence
from pathlib import PurePosixPath

FOLDER = "/etc/systemd/system"
_KINDS = (".service", ".timer", ".path", ".socket", ".mount", ".slice", ".target")
_SCRIPT = """\
need=
for unit in {units}; do
  state=$(systemctl show -p LoadState -p NeedDaemonReload -- "$unit" 2>/dev/null) || continue
  case $state in
  *NeedDaemonReload=yes*|*LoadState=error*|*LoadState=bad-setting*) need="$need $unit" ;;
  *LoadState=not-found*) [ ! -e {folder}/"$unit" ] || need="$need $unit" ;;
  esac
done
if [ -n "$need" ]; then
  running=$(docker ps -q 2>/dev/null)
  how='{{{{.HostConfig.Runtime}}}} {{{{range .HostConfig.DeviceRequests}}}}{{{{.Driver}}}}:{{{{end}}}}'
  if [ -n "$running" ] && docker inspect -f "$how" $running 2>/dev/null | grep -Eq '^nvidia | (nvidia)?:'
  then echo "qops-reload-pending$need"
  else systemctl daemon-reload && echo "qops-reloaded$need"; fi
fi
"""
_PENDING = "qops-reload-pending "


def script(paths: Sequence[str]) -> str:
    """Return the script that has systemd read what was written at `paths`, where that is needed and safe; or ""."""
    names = {
        parent.name.removesuffix(".d") if parent.name.endswith(".d") else path.name
        for path in map(PurePosixPath, paths)
        if path.is_relative_to(FOLDER)
        for parent in (path.parent,)
    }
    units = sorted(name for name in names if name.endswith(_KINDS))
    return _SCRIPT.format(units=" ".join(map(shlex.quote, units)), folder=FOLDER) if units else ""


def pending(said: str) -> list[str]:
    """Return the units that systemd must read anew once no container would lose its GPUs by it."""
    line = next((line for line in said.splitlines() if line.startswith(_PENDING)), "")
    return line.removeprefix(_PENDING).split()
