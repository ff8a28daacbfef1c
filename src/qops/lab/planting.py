"""Planting faults in hosts and mending them. What is planted stands in the host's faults.json."""

import io
import json
import shlex
import tarfile
from collections.abc import Mapping

from qops.errors import UsageError
from qops.lab import faults, payload, shared_job
from qops.lab.docker import Container, Docker
from qops.lab.engine import control
from qops.lab.errors import LabError
from qops.lab.fault import Fault
from qops.lab.place import Place, Say, locked

STEP_S = 300  # the longest step waits for the serving engine: half a minute, and more on busy cores

# Lays the simulated /sys and /proc out anew, as a reboot does.
_BOOT = "systemctl restart qops-lab-hardware.service"


def find(cause: str) -> Fault:
    """Return the fault of a cause; UsageError if the lab cannot plant it."""
    for fault in faults.ALL:
        if fault.cause == cause:
            return fault
    raise UsageError(
        f"the lab has no fault {cause}", f"qops lab list; known: {', '.join(one.cause for one in faults.ALL)}"
    )


def planted(docker: Docker, container: Container) -> tuple[str, ...] | None:
    """Return the causes planted in a host, running or not; None where that cannot be read."""
    done = docker.call("cp", f"{container.name}:{payload.FAULTS}", "-", check=False)
    if done.returncode != 0:
        return None
    try:
        with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
            member = archive.extractfile(archive.getmembers()[0])
            found = json.load(member) if member else None
    except (tarfile.TarError, IndexError, ValueError):
        return None
    return tuple(sorted(found)) if isinstance(found, dict) else None


def plant(place: Place, container: Container, fault: Fault, say: Say) -> bool:
    """Plant a fault; return whether it was not there before. A plant that was cut short is finished."""
    if fault.classes and container.hardware_class not in fault.classes:
        raise UsageError(
            f"a {container.hardware_class} host cannot have {fault.cause}",
            f"it belongs to: {', '.join(fault.classes)}",
        )
    with locked(place, say) as lock:
        docker = Docker((lock,))
        fault, ranks = _form(docker, container, fault)
        if ranks:
            say(f"{container.host}: a job over {', '.join(one.host for one in ranks)} is started, a rank on each")
            shared_job.start(docker, ranks)
        if fault.engine:
            control.require(docker, container)
            say(f"{container.host}: {fault.cause} needs the engine, which takes a minute to start")
        _require(docker, container, fault)
        recorded = _read(docker, container)
        known = fault.cause in recorded
        if not known:
            # Recorded first: what is half planted can then be mended.
            _write(docker, container, {**recorded, fault.cause: dict(fault.parameters)}, boot=fault.after_boot)
        _run(docker, container, fault.plant, f"planting {fault.cause}")
        _check(docker, container, fault)
        return not known


def mend(place: Place, container: Container, causes: tuple[str, ...], say: Say) -> tuple[str, ...]:
    """Mend the faults of `causes`, or all that are planted; return what was mended."""
    with locked(place, say) as lock:
        docker = Docker((lock,))
        recorded = _read(docker, container)
        known = {fault.cause: fault for fault in faults.ALL}
        wanted = tuple(cause for cause in recorded if not causes or cause in causes)
        for cause in wanted:
            if cause in known:
                fault, ranks = _form(docker, container, known[cause])
                shared_job.stop(docker, ranks)
                _run(docker, container, fault.mend, f"mending {cause}")
            recorded = {name: value for name, value in recorded.items() if name != cause}
            _write(docker, container, recorded, boot=cause in known and known[cause].after_boot)
        return wanted


def _form(docker: Docker, container: Container, fault: Fault) -> tuple[Fault, tuple[Container, ...]]:
    """Return the fault as it is on this host, and the hosts of the job that it is in, if it is in one."""
    if fault.shared and not control.has_engine(docker, container):
        ranks = shared_job.hosts(docker, container)
        if len(ranks) > 1:
            return fault.shared, ranks
    return fault, ()


def _require(docker: Docker, container: Container, fault: Fault) -> None:
    for command, wrong in fault.requires:
        if docker.call("exec", container.name, "sh", "-c", command, check=False).returncode != 0:
            raise UsageError(f"{container.host} cannot have {fault.cause}: {wrong}", "qops lab list")


def _read(docker: Docker, container: Container) -> dict[str, object]:
    done = docker.call("exec", container.name, "cat", payload.FAULTS)
    try:
        found = json.loads(done.stdout)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise LabError(
            f"{payload.FAULTS} on {container.host} is no JSON object",
            f"qops lab ssh {container.host}, and write {{}} into it",
        )
    return found


def _write(docker: Docker, container: Container, content: Mapping[str, object], *, boot: bool) -> None:
    text = json.dumps(content, indent=1, sort_keys=True) + "\n"
    new = shlex.quote(payload.FAULTS + ".new")
    step = f"cat >{new} && mv {new} {shlex.quote(payload.FAULTS)}" + (f" && {_BOOT}" if boot else "")
    docker.call("exec", "-i", container.name, "sh", "-c", step, stdin=text.encode(), timeout=STEP_S)


def _run(docker: Docker, container: Container, steps: tuple[str, ...], doing: str) -> None:
    for step in steps:
        done = docker.call("exec", container.name, "sh", "-c", step, timeout=STEP_S, check=False)
        if done.returncode != 0:
            why = (done.stderr or done.stdout).decode(errors="replace").strip()
            raise LabError(f"{doing} on {container.host} failed at `{step}`: {why}", f"qops lab mend {container.host}")


def _check(docker: Docker, container: Container, fault: Fault) -> None:
    if fault.check and docker.call("exec", container.name, "sh", "-c", fault.check, check=False).returncode != 0:
        raise LabError(
            f"{fault.cause} was planted on {container.host} but does not show: {fault.check}",
            f"qops lab mend {container.host}",
        )
