"""`qops probe p2p` from the first look at the host to the result: what is refused, what is tried, what is kept."""

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from qops import probes, whole_file
from qops.cli import options
from qops.cli.looking import look
from qops.cli.probing import AS_IS, OFF, Runner, next_after, tried
from qops.cli.progress import Line
from qops.derive import nccl_environment, nccl_machine, p2p
from qops.derive import peer_probe as derived
from qops.derive.cuda_compat import host_driver
from qops.derive.service import Service
from qops.derive.service_gpus import gpus_by
from qops.engine import observe
from qops.errors import FAULT, HEALTHY, INCOMPLETE, INTERRUPTED, UsageError
from qops.evidence.cdi import Cdi
from qops.evidence.container_engine import ContainerEngine
from qops.evidence.gpu import DriverModule, Gpu, Gpus, P2pStatus
from qops.evidence.kernel import System
from qops.evidence.peer_probe import Outcome, PeerProbe
from qops.evidence.text import Quote
from qops.probes import peer_probe
from qops.render import peer_probe as rendered
from qops.render.screen import Line as Shown

IDLE = 600 << 20  # bytes: what an H200 that nobody uses holds by itself was under 600 MiB
_KINDS = (*nccl_machine.KINDS, ContainerEngine, Cdi)
Seen = Mapping[type, Any]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked for. `limit` in seconds for one attempt; empty `gpus` are all, empty `output` the usual place."""

    image: str = ""
    python: str = ""
    gpus: tuple[int, ...] = ()
    limit: float = 120.0
    environment: Mapping[str, str] = field(default_factory=dict)
    output: str = ""


def predicted(wanted: Wanted, *, quiet: bool) -> tuple[str, list[Shown], int]:
    """Say what NCCL will do by itself: JSON, lines, exit status."""
    _, seen = _seen(quiet=quiet)
    gpus = _chosen(wanted, seen)
    machine = nccl_machine.machine(seen, [gpu.index for gpu in gpus])
    told = nccl_environment.environment(machine)
    reach = p2p.level(None, None, machine.system, machine.gpus)
    status = HEALTHY if told.pairs or machine.topology else INCOMPLETE
    return rendered.prediction_document(reach, told), rendered.prediction(reach, told), status


def probed(wanted: Wanted, *, quiet: bool) -> tuple[str, list[Shown], int]:
    """Make the attempts and keep the result: JSON, lines, exit status. UsageError when it is refused."""
    host, seen = _seen(quiet=quiet)
    gpus = _chosen(wanted, seen)
    _refuse_if_used(gpus, seen[Gpus])
    runner = _runner(wanted, tuple(gpu.index for gpu in gpus), seen)
    place = Path(wanted.output or peer_probe.PLACE)
    _writable(place, asked=bool(wanted.output))
    system: System | None = seen.get(System)
    result = PeerProbe(
        Quote(str(place), 0, ""),
        host=host,
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        driver=host_driver(seen.get(DriverModule), seen.get(Gpus)),
        kernel=system.kernel if system else "",
        image=wanted.image,
        gpus={gpu.uuid or f"GPU{gpu.index}": gpu.index for gpu in gpus},
    )
    granted = _granted(seen, gpus)
    interrupted = False
    with Line("probe", quiet=quiet) as line:
        try:
            while name := next_after(result.arms, wider=granted and not _all_direct(result)):
                line.note(f"probing peer-to-peer: {name}")
                one = tried(name, runner, limit=wanted.limit, told=_live(line))
                if one.found.refused:
                    raise UsageError(
                        f"{wanted.image or wanted.python}: {one.found.refused}",
                        "name the image or the Python that serves models; see that it gets the GPUs",
                    )
                versions = {k: v for k, v in one.found.versions.items() if k in ("torch", "nccl")}
                result = msgspec.structs.replace(result, arms=(*result.arms, one.arm), **versions)
        except KeyboardInterrupt:
            interrupted = True
    if not interrupted:
        whole_file.replace(place, peer_probe.written(result).encode(), 0o644)
    status = INTERRUPTED if interrupted else _status(result)
    return peer_probe.written(result), rendered.result(result, "" if interrupted else str(place)), status


def _live(line: Line) -> Callable[[str], None]:
    """Return what says how far an attempt is, where the line can be rewritten."""
    return line.note if line.live else lambda text: None


def _seen(*, quiet: bool) -> tuple[str, Seen]:
    known = [probe.once() for probe in probes.ALL if probe.makes in _KINDS]
    found = look(known, what="looking at this host", seconds=options.SECONDS, quiet=quiet)
    if found.interrupted:
        raise KeyboardInterrupt
    return found.host, observe(found.texts, found.gaps, known)


def _chosen(wanted: Wanted, seen: Seen) -> tuple[Gpu, ...]:
    gpus: Gpus | None = seen.get(Gpus)
    if gpus is None or not gpus.gpus:
        raise UsageError("nvidia-smi shows no GPU on this host", "qops diagnose host says why")
    by_index = {gpu.index: gpu for gpu in gpus.gpus}
    if unknown := [index for index in wanted.gpus if index not in by_index]:
        raise UsageError(f"there is no GPU {unknown[0]}", f"there are {', '.join(map(str, by_index))}")
    chosen = tuple(by_index[index] for index in wanted.gpus) or gpus.gpus
    if len(chosen) < 2:
        raise UsageError("peer-to-peer is between two GPUs or more, and there is one", "nothing has to be probed here")
    return chosen


def _refuse_if_used(chosen: tuple[Gpu, ...], gpus: Gpus) -> None:
    hint = "stop what uses them (nvidia-smi), or choose others: --gpus"
    for gpu in chosen:
        users = [p for p in gpus.processes or () if p.gpu in (gpu.uuid, str(gpu.index))]
        if users:
            raise UsageError(f"GPU {gpu.index} is in use by {users[0].name} (pid {users[0].pid})", hint)
        if gpu.memory_used is not None and gpu.memory_used > IDLE:
            used = gpu.memory_used >> 20
            raise UsageError(f"GPU {gpu.index} holds {used} MiB for a process that is not seen from here", hint)


def _runner(wanted: Wanted, gpus: tuple[int, ...], seen: Seen) -> Runner:
    if not wanted.image:
        return Runner(gpus, python=wanted.python, environment=wanted.environment)
    engine: ContainerEngine | None = seen.get(ContainerEngine)
    runtime = "docker" if engine and engine.active == "active" else "podman"
    by, why = gpus_by(Service("probe", (), "", "", 0, runtime=runtime, gpus=gpus), engine, seen.get(Cdi))
    if not by:
        raise UsageError(f"a container gets no GPUs here: {why}", "mend that, or use a Python of the host: --python")
    devices = [f"--device=nvidia.com/gpu={gpu}" for gpu in gpus]
    if by == "gpus":
        devices = [f'--gpus="device={",".join(map(str, gpus))}"']
    return Runner(gpus, engine=runtime, image=wanted.image, devices=tuple(devices), environment=wanted.environment)


def _granted(seen: Seen, gpus: tuple[Gpu, ...]) -> bool:
    """Return whether the driver lets any of the GPUs reach each other; what it does not say is tried."""
    names = [f"GPU{gpu.index}" for gpu in gpus]
    status: P2pStatus | None = seen.get(P2pStatus)
    return any(not p2p.refused(status, a, b) for a in names for b in names if a < b)


def _all_direct(result: PeerProbe) -> bool:
    first = result.arm(AS_IS)
    return first is not None and derived.passed(first)


def _status(result: PeerProbe) -> int:
    if any(arm.outcome in (Outcome.WRONG, Outcome.HUNG) for arm in result.arms):
        return FAULT
    off = result.arm(OFF)
    return HEALTHY if off is not None and off.outcome is Outcome.RIGHT else INCOMPLETE


def _writable(place: Path, *, asked: bool) -> None:
    """Refuse before the GPUs are used when the result could not be kept."""
    try:
        if not asked:
            place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place.parent):
            return
    except OSError as error:
        hint = "run it as root, or keep the result elsewhere: -o p2p.json"
        raise UsageError(f"{place} cannot be written: {error.strerror}", hint) from None
