"""Who uses the GPUs, and the driver's modules: stop, unload, load, look."""

import os
import re
import time
from pathlib import Path

from commands import FailedError, RefusedError, last, output, read, run, say

MODULES = ("nvidia_peermem", "nvidia_fs", "gdrdrv", "nvidia_drm", "nvidia_modeset", "nvidia_uvm", "nvidia")
# The vendor's own daemons: they hold the GPUs and serve nobody. The exporters come first, they use the others.
DAEMONS = (
    "dcgm-exporter.service",
    "nvidia-dcgm-exporter.service",
    "nvidia-dcgm.service",
    "dcgm.service",
    "nvidia-fabricmanager.service",
    "nvidia-persistenced.service",
)
_DAEMON = re.compile(r"nvidia-persiste|nvidia-fabricma|nv-fabricmanage|nv-hostengine|dcgm|nvidia-smi")
_UNIT = re.compile(r"/([\w@.\-:\\]+\.service)(?:/|$)")
_CONTAINER = re.compile(r"docker-([0-9a-f]{64})\.scope|/docker/([0-9a-f]{64})(?:/|$)")


def loaded():
    """Return the names of the loaded modules that matter here."""
    names = {line.split(" ", 1)[0] for line in read("/proc/modules").splitlines()}
    return [name for name in (*MODULES, "nouveau") if name in names]


def version():
    """Return the version of the loaded module, "" for none."""
    found = re.search(r"Kernel Module.*?  ([0-9]{3}(?:\.[0-9]+){1,2})", read("/proc/driver/nvidia/version"))
    return found[1] if found else ""


def kernel():
    """Return the running kernel."""
    return read("/proc/sys/kernel/osrelease").strip() or os.uname().release


def kernels():
    """Return the installed kernels, the running one first."""
    found = [path.name.removeprefix("vmlinuz-") for path in Path("/boot").glob("vmlinuz-*")]
    found += [path.parent.name for path in Path("/usr/lib/modules").glob("*/vmlinuz")]
    others = sorted(k for k in found if not k.startswith("0-rescue") and not k.endswith(".old"))
    return list(dict.fromkeys([kernel(), *others]))


def has_module(release):
    """Return whether an NVIDIA module lies on disk for a kernel."""
    for _, _, files in os.walk(f"/lib/modules/{release}"):
        if any(re.match(r"nvidia\.ko(\.\w+)?$", name) for name in files):
            return True
    return False


def users():
    """Return {pid: name} of the processes that use a GPU, the vendor's daemons left out."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*/fd"):
        try:
            opened = any(re.match(r"/dev/nvidia\d", str(entry.readlink())) for entry in folder.iterdir())
        except OSError:
            continue
        if opened:
            found[int(folder.parent.name)] = ""
    listed = output(["nvidia-smi", "--query-compute-apps=pid", "--format=csv,noheader"], timeout=20)
    found.update({int(pid): "" for pid in listed.split() if pid.isdigit()})
    names = {pid: _name(pid) for pid in found}
    return {pid: name for pid, name in names.items() if name and not _DAEMON.match(name)}


def _name(pid):
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _owner(pid):
    """Return what starts and stops a process: a unit, "docker:ID", or "" for somebody's own process."""
    path = _cgroup(pid).removeprefix(_cgroup(1).removesuffix("/init.scope"))  # where this host is a container itself
    container = _CONTAINER.search(path)
    if container:
        return f"docker:{container[1] or container[2]}"
    units = [] if "/user@" in path else _UNIT.findall(path)
    return units[-1] if units else ""


def _cgroup(pid):
    """Return the path of a process's cgroup: of systemd's own hierarchy, or the only one."""
    try:
        lines = Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    paths = [line.split(":", 2)[2] for line in lines if re.match(r"0::|\d+:name=systemd:", line)]
    return max(paths, key=len, default="")


def _active(units):
    return [u for u in units if run(["systemctl", "is-active", "--quiet", u])[0] == 0]


def clients(spec):
    """Return what has to be stopped, first first. RefusedError where somebody uses a GPU and may not be stopped."""
    using = users()
    told = ", ".join(f"{name} ({pid})" for pid, name in sorted(using.items())[:5])
    if using and not spec["stop_clients"]:
        raise RefusedError(f"the GPUs are in use by {told}; set nvidia_driver_stop_clients to have them stopped")
    owners = {pid: _owner(pid) for pid in using}
    loose = [f"{using[pid]} ({pid})" for pid, owner in sorted(owners.items()) if not owner]
    if loose:
        raise RefusedError(f"the GPUs are in use by processes that no unit starts: {', '.join(loose)}; end them")
    listed = _active(spec["clients"]) if spec["stop_clients"] else []
    return list(dict.fromkeys([*listed, *owners.values(), *_active(DAEMONS)]))


def stop(owners):
    """Stop units and containers, and wait until nobody uses a GPU."""
    for owner in owners:
        say(f"stop {owner}")
        argv = ["docker", "stop", owner[7:]] if owner.startswith("docker:") else ["systemctl", "stop", owner]
        status, text = run(argv, timeout=600)
        if status:
            raise FailedError(f"{owner} does not stop: {last(text, 3)}")
    until = time.monotonic() + 60
    while left := users():
        if time.monotonic() > until:
            raise FailedError(f"the GPUs are still in use by {', '.join(f'{n} ({p})' for p, n in left.items())}")
        time.sleep(1)


def start(owners):
    """Start what was stopped, last first; return what does not start."""
    bad = []
    for owner in reversed(owners):
        say(f"start {owner}")
        argv = ["docker", "start", owner[7:]] if owner.startswith("docker:") else ["systemctl", "start", owner]
        status, text = run(argv, timeout=600)
        if status:
            bad.append(f"{owner}: {last(text, 2)}")
    return bad


def unload():
    """Unload the driver, nouveau too; return why it cannot be, or ""."""
    for name in loaded():
        if name not in loaded():  # went with another
            continue
        say(f"unload {name}")
        status, text = run(["modprobe", "-r", name], timeout=120)
        if status:
            return f"{name} cannot be unloaded: {last(text, 2)}"
    return ""


def load(wanted):
    """Load the driver; FailedError unless it is of the version that is wanted and its tool works with it."""
    for name in ("nvidia", "nvidia_uvm"):
        status, text = run(["modprobe", name], timeout=120)
        if status:
            log = last(output(["dmesg"]), 5)
            raise FailedError(f"{name} cannot be loaded: {last(text, 2)}" + (f"\n{log}" if log else ""))
    found = version()
    if wanted and found != wanted:
        raise FailedError(f"the module that was loaded is {found or 'none'} and not {wanted}")
    status, text = run(["nvidia-smi", "-L"], timeout=120)
    if status or "GPU " not in text:
        raise FailedError(f"nvidia-smi does not see the GPUs: {last(text, 3)}")


def parameters_differ(wanted):
    """Return whether the loaded module has other parameters than it should."""
    now = {}
    for line in read("/proc/driver/nvidia/params").splitlines():
        name, _, value = line.partition(": ")
        now[name.strip()] = value.strip().strip('"')
    return any(name in now and not _same(now[name], value) for name, value in wanted.items())


def _same(one, other):
    try:
        return one == other or int(one, 0) & 0xFFFFFFFF == int(other, 0) & 0xFFFFFFFF
    except ValueError:
        return False


def enable(units):
    """Have units started at boot, and start them. Without `systemctl enable`, which would reload systemd.

    Containers that got their GPUs by --gpus lose them when systemd is reloaded.
    """
    bad = []
    for unit in units:
        path = output(["systemctl", "show", "-P", "FragmentPath", unit]).strip()
        if not path:
            bad.append(f"{unit} is not there")
            continue
        for target in re.findall(r"^WantedBy=(\S+\.target)$", read(path), re.MULTILINE):
            link = Path(f"/etc/systemd/system/{target}.wants/{unit}")
            if not link.is_symlink() and not link.exists():
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(path)
        run(["systemctl", "reset-failed", unit])
        status, text = run(["systemctl", "start", unit], timeout=180)
        if status:
            bad.append(f"{unit} does not start: {last(text, 2)}")
    return bad
