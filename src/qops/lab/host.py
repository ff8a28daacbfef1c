"""One practice host: made of a base image and a payload, started, and waited for until it answers."""

import hashlib
import subprocess
import time
from dataclasses import dataclass

from qops.lab import keys, network, payload
from qops.lab.docker import LABEL, Container, Docker, labels
from qops.lab.engine import layer
from qops.lab.errors import LabError
from qops.lab.images import Base
from qops.lab.place import Place, Say
from qops.lab.scenario import Scenario, ScenarioHost

BOOT_S = 180  # three seconds here, and half a minute for eight at once on two busy cores
SHM = "8g"  # a limit, not a reservation; real hosts give half of their memory

# What systemd needs to run in a container, and no more: --privileged fails without CAP_SYS_RESOURCE.
# SYS_ADMIN: its mounts; NET_ADMIN: docker inside; SYS_PTRACE: stacks of hung processes.
_BOOT = (
    "--cap-add", "SYS_ADMIN", "--cap-add", "NET_ADMIN", "--cap-add", "SYS_PTRACE",
    "--security-opt", "seccomp=unconfined", "--security-opt", "apparmor=unconfined",
    "--cgroupns=host", "-v", "/sys/fs/cgroup:/sys/fs/cgroup:rw",
    "--tmpfs", "/run:rw,nosuid,nodev,mode=755", "--tmpfs", "/tmp:rw,exec,nosuid,nodev,mode=1777",  # noqa: S108 - the host's own
    "--shm-size", SHM, "-e", "container=docker", "-e", f"QOPS_ROOT={payload.ROOT}",
    "--stop-signal", "SIGRTMIN+3",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Plan:
    """One host as it should be, and the digest that tells whether a container is that."""

    scenario: Scenario
    host: ScenarioHost
    packed: bytes
    spec: str

    @property
    def base(self) -> Base:
        """The image that it is made of."""
        return Base(self.host.base)


def plan(place: Place, scenario: Scenario, host: ScenarioHost) -> Plan:
    """Plan one host; makes its SSH host key if it has none."""
    keys.ensure_pair(keys.host_key(place, host.name), host.name)
    packed = payload.pack(payload.entries(place, scenario, host))
    made_of = (_BOOT, Base(host.base).tag, host, layer.volumes() if scenario.engine else ())
    digest = hashlib.sha256(packed + repr(made_of).encode()).hexdigest()
    return Plan(scenario, host, packed, digest[:32])


def container_name(place: Place, host: str) -> str:
    """Return the name of a host's container."""
    return f"qops-{place.name}-{host}"


def is_current(planned: Plan, found: Container | None) -> bool:
    """Tell whether a container is the planned host, whole, and needs a start at most."""
    return found is not None and not found.half_built and found.spec == planned.spec


def build(docker: Docker, place: Place, planned: Plan, address: str) -> None:
    """Make the container of a host that has none, and start it once everything is in it."""
    name = container_name(place, planned.host.name)
    volume = _volume(place, planned.host.name)
    owned = labels(lab=place.name, host=planned.host.name)
    about = labels(
        scenario=planned.scenario.name,
        source=planned.scenario.source,
        class_=planned.scenario.hardware_class,
        spec=planned.spec,
    )
    mounted: tuple[str, ...] = ()
    if planned.host.docker:
        docker.call("volume", "create", *owned, volume)
        mounted = ("-v", f"{volume}:/var/lib/docker")
    if planned.scenario.engine:
        mounted += layer.mounts(docker)
    docker.call(
        "create", "--name", name, "--hostname", planned.host.name, *owned, *about,
        "--network", network.name(place), "--ip", address, *_BOOT, *mounted, planned.base.tag, "/opt/qops-lab/init",
    )  # fmt: skip
    docker.call("cp", "-", f"{name}:/", stdin=planned.packed)
    # In a container `reboot` only ends PID 1, so the daemon has to start it again. Set only now: a daemon
    # that restarts would otherwise start a host that is half built.
    docker.call("update", "--restart", "unless-stopped", name)
    start(docker, name)


def start(docker: Docker, name: str) -> None:
    """Start a host's container."""
    done = docker.call("start", name, check=False)
    if done.returncode != 0:
        raise LabError(
            f"{name} does not start: {done.stderr.decode(errors='replace').strip()}",
            "a practice host needs CAP_SYS_ADMIN, CAP_NET_ADMIN and CAP_SYS_PTRACE from this machine: capsh --print",
        )


def discard(docker: Docker, place: Place, host: str) -> None:
    """Remove a host's container and volume, whatever state they are in."""
    mine = ("--filter", f"label={LABEL}={place.name}", "--filter")
    name, volume = container_name(place, host), _volume(place, host)
    if docker.refuse_foreign("container", name, place.name):
        network.until_gone(docker, ("ps", "-aq", *mine, f"name=^/{name}$"), ("rm", "-f", "-v"))
    if docker.refuse_foreign("volume", volume, place.name):
        network.until_gone(docker, ("volume", "ls", "-q", *mine, f"name=^{volume}$"), ("volume", "rm"))


def wait(docker: Docker, place: Place, container: str, address: str, say: Say) -> None:
    """Wait until a host has booted and answers SSH; say which of its units failed, if any."""
    deadline = time.monotonic() + BOOT_S
    command = ("systemctl is-system-running --wait; systemctl list-units --failed --plain --no-legend",)
    while True:
        asked = keys.ssh(place, address, command, ("-o", "ConnectTimeout=3", "-o", "LogLevel=ERROR"))
        try:
            done = subprocess.run(
                asked, capture_output=True, text=True, timeout=BOOT_S, check=False, stdin=subprocess.DEVNULL
            )
        except subprocess.TimeoutExpired:
            raise LabError(
                f"{container} answers SSH but does not finish booting within {BOOT_S} s",
                f"docker exec {container} systemctl list-jobs",
            ) from None
        state, _, failed = done.stdout.partition("\n")
        if done.returncode != 255 and state not in {"", "offline", "initializing", "starting"}:
            break
        if time.monotonic() > deadline:
            raise LabError(
                f"{container} does not answer SSH within {BOOT_S} s: {done.stderr.strip() or state}",
                f"docker logs {container}; docker exec {container} journalctl -b",
            )
        time.sleep(0.3)
    if failed.strip():
        units = ", ".join(line.split()[0] for line in failed.splitlines() if line.strip())
        say(f"{container}: up, but these units failed: {units}")


def _volume(place: Place, host: str) -> str:
    return f"{container_name(place, host)}-docker"
