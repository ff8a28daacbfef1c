"""What makes a container of a base image a practice host: files, put in before its first start."""

import hashlib
import io
import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from qops.errors import UsageError
from qops.lab import keys, vendor
from qops.lab.engine import unit
from qops.lab.images import Base
from qops.lab.packages import host as packages
from qops.lab.place import Place
from qops.lab.registry import server as registry
from qops.lab.scenario import Scenario, ScenarioHost

# All redirected reads of /sys and /proc go here. It is on the host's own disk, so it lasts over a reboot.
ROOT = "/var/lib/qops-lab/root"
SIMULATOR = "/opt/qops-lab/sim"
FAULTS = "/etc/qops-lab/faults.json"

# Each boot has its own boot id, as on a real host: Ansible's reboot module and journald tell boots apart by
# it, and a container otherwise shows the machine's. The argument lets systemd 257 run on cgroup v1.
_INIT = """#!/bin/sh
cat /proc/sys/kernel/random/uuid >/run/boot_id
mount --bind /run/boot_id /proc/sys/kernel/random/boot_id
exec /sbin/init SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE=1
"""

_MOTD = """
This is a practice host of qops lab, scenario {scenario}: {about}
ITS GPUS ARE SIMULATED. nvidia-smi, lspci, dmesg and what is read of /sys and /proc come from
{simulator}, not from hardware. Docker, systemd, apt and ssh are real.{engine}

"""

_HARDWARE_UNIT = f"""[Unit]
Description=Lay out the simulated hardware of this practice host
Documentation=file:/etc/motd
DefaultDependencies=no
After=local-fs.target
Before=sysinit.target
ConditionPathExists={SIMULATOR}/boot.py

[Service]
Type=oneshot
RemainAfterExit=yes
WorkingDirectory=/opt/qops-lab
Environment=PYTHONDONTWRITEBYTECODE=1
ExecStart=/usr/bin/python3 -m sim.boot

[Install]
WantedBy=sysinit.target
"""

# The redirected files are plain files: this puts what is written to them in the form that a kernel shows.
_SETTLE_UNIT = f"""[Unit]
Description=Answer writes to the simulated kernel settings of this practice host
After=qops-lab-hardware.service
ConditionPathExists={SIMULATOR}/settle.py

[Service]
WorkingDirectory=/opt/qops-lab
Environment=PYTHONDONTWRITEBYTECODE=1
ExecStart=/usr/bin/python3 -m sim.settle --watch
Restart=always

[Install]
WantedBy=multi-user.target
"""

_SSHD = f"""PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
UseDNS no
SetEnv QOPS_ROOT={ROOT}
"""

# Docker 26 cannot switch IPv6 off for a container, since /proc/sys is read-only in a practice host.
_DOCKER_DROP_IN = """[Service]
Environment=DOCKER_ALLOW_IPV6_ON_IPV4_INTERFACE=1
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """One file or link of the payload, with an absolute path."""

    path: str
    content: bytes = b""
    mode: int = 0o644
    link: str = ""


def simulator() -> Path:
    """Return the folder of the hardware simulator that goes into each host."""
    return Path(__file__).parent / "sim"


def entries(place: Place, scenario: Scenario, host: ScenarioHost) -> tuple[Entry, ...]:
    """Return everything that is put into a host."""
    whole = (
        *_identity(place, scenario, host),
        *_system(host),
        *_served(place, host, scenario),
        *_vendors(scenario),
        *_simulated(scenario),
        *_scripts(simulator()),
    )
    return (*whole, *_engine()) if scenario.engine else whole


def pack(wanted: tuple[Entry, ...]) -> bytes:
    """Return the entries as a tar; equal entries give equal bytes."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for entry in sorted(wanted, key=lambda one: one.path):
            member = tarfile.TarInfo(entry.path.lstrip("/"))
            member.mode = entry.mode
            if entry.link:
                member.type, member.linkname = tarfile.SYMTYPE, entry.link
            member.size = len(entry.content)
            archive.addfile(member, io.BytesIO(entry.content))
    return buffer.getvalue()


def _identity(place: Place, scenario: Scenario, host: ScenarioHost) -> Iterator[Entry]:
    shown = keys.host_key(place, host.name)
    private = shown.read_bytes()
    yield Entry("/etc/ssh/ssh_host_ed25519_key", private, 0o600)
    yield Entry("/etc/ssh/ssh_host_ed25519_key.pub", keys.public(shown).read_bytes())
    yield Entry("/root/.ssh/authorized_keys", keys.public(place.key).read_bytes(), 0o600)
    yield Entry("/etc/machine-id", (hashlib.sha256(private).hexdigest()[:32] + "\n").encode(), 0o444)
    yield Entry(
        "/etc/motd",
        _MOTD.format(
            scenario=scenario.name,
            about=scenario.about,
            simulator=SIMULATOR,
            engine="\nSo is vLLM, which runs on the CPU with a tiny model: systemctl status vllm. SGLang too,"
            "\nbut stand-ins take the place of its GPU kernels: /opt/sglang/bin/sglang"
            if scenario.engine
            else "",
        ).encode(),
    )
    about = {
        "lab": place.name,
        "host": host.name,
        "scenario": scenario.name,
        "class": scenario.hardware_class,
    }
    yield Entry("/etc/qops-lab/host.json", _json(about))


def _system(host: ScenarioHost) -> Iterator[Entry]:
    units = "/etc/systemd/system"
    yield Entry("/opt/qops-lab/init", _INIT.encode(), 0o755)
    yield Entry("/etc/environment", f"QOPS_ROOT={ROOT}\n".encode())
    yield Entry("/etc/ssh/sshd_config.d/qops-lab.conf", _SSHD.encode())
    yield Entry(
        "/etc/systemd/system.conf.d/qops-lab.conf",
        f"[Manager]\nDefaultEnvironment=QOPS_ROOT={ROOT}\n".encode(),
    )
    yield Entry(f"{units}/qops-lab-hardware.service", _HARDWARE_UNIT.encode())
    yield Entry(f"{units}/sysinit.target.wants/qops-lab-hardware.service", link="../qops-lab-hardware.service")
    yield Entry(f"{units}/qops-lab-settle.service", _SETTLE_UNIT.encode())
    yield Entry(f"{units}/multi-user.target.wants/qops-lab-settle.service", link="../qops-lab-settle.service")
    yield Entry(f"{units}/docker.service.d/qops-lab.conf", _DOCKER_DROP_IN.encode())
    if host.docker:
        for target, unit in (
            ("multi-user.target", "docker.service"),
            ("multi-user.target", "containerd.service"),
            ("sockets.target", "docker.socket"),
        ):
            yield Entry(f"{units}/{target}.wants/{unit}", link=f"/lib/systemd/system/{unit}")


def _served(place: Place, host: ScenarioHost, scenario: Scenario) -> Iterator[Entry]:
    if host.packages:
        yield from (Entry(path, content) for path, content in packages.files(place, Base(host.base)))
    before = vendor.daemon_json() if scenario.hardware.get("dgx") else b""
    if host.registry:
        yield Entry("/etc/docker/daemon.json", registry.daemon_json(before))
    elif before:
        yield Entry("/etc/docker/daemon.json", before)


def _simulated(scenario: Scenario) -> Iterator[Entry]:
    try:
        yield Entry("/etc/qops-lab/hardware.json", _json(scenario.hardware))
    except TypeError as error:
        raise UsageError(f"scenario {scenario.name}: hardware holds a value that JSON has not: {error}") from error
    yield Entry(FAULTS, b"{}\n")


def _vendors(scenario: Scenario) -> Iterator[Entry]:
    system = scenario.hardware.get("dgx")
    if system:
        yield from (Entry(path, content, mode) for path, content, mode in vendor.files(system))
        yield from (Entry(path, link=target) for path, target in vendor.links())


def _engine() -> Iterator[Entry]:
    yield Entry(unit.UNIT_FILE, unit.UNIT.encode())
    yield Entry(unit.PROGRAM, unit.script(), 0o755)
    yield Entry(unit.COMMAND, link=unit.PROGRAM)


def _scripts(folder: Path) -> Iterator[Entry]:
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if not path.is_file() or "__pycache__" in inside.parts:
            continue
        command = inside.parts[0] == "bin" and len(inside.parts) == 2
        yield Entry(f"{SIMULATOR}/{inside}", path.read_bytes(), 0o755 if command else 0o644)
        if command:
            yield Entry(f"/usr/local/bin/{path.name}", link=f"{SIMULATOR}/{inside}")


def _json(value: object) -> bytes:
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()
