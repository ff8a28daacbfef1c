"""The work of `qops probe p2p`: attempts in a process group of their own, each with an end."""

import contextlib
import os
import signal
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from qops.errors import UsageError
from qops.evidence.peer_probe import Outcome, PeerArm
from qops.probes import p2p_worker, peer_probe
from qops.probes.peer_probe import Attempt

SIZES = (8 << 10, 1 << 20, 32 << 20, 256 << 20)  # bytes: NCCL's protocols LL, LL128 and Simple, and one that lasts
AS_IS, WIDE, OFF = "as is", "wide", "off"
# Of every attempt: NCCL says which way each pair goes only when it is asked, and indexes are to be nvidia-smi's.
SAID = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,ENV,P2P", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
FORCED = {AS_IS: {}, WIDE: {"NCCL_P2P_LEVEL": "SYS"}, OFF: {"NCCL_P2P_DISABLE": "1"}}
MERCY = 10.0  # seconds until a killed process that is still there counts as one that cannot be killed
MOST = 200_000  # lines of one attempt that are kept


@dataclass(frozen=True, slots=True)
class Runner:
    """How an attempt is run. `python` on the host, or `image` with an engine and the words that give it the GPUs."""

    gpus: tuple[int, ...]
    python: str = ""
    engine: str = ""
    image: str = ""
    devices: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)

    def words(self, container: str, environment: Mapping[str, str]) -> list[str]:
        """Return the command of one attempt; `container` names it where it is one."""
        program = str(Path(p2p_worker.__file__).resolve())
        arguments = [str(len(self.gpus)), ",".join(map(str, SIZES))]
        if not self.image:
            return [self.python, "-u", program, *arguments]
        given = [word for name, value in environment.items() for word in ("--env", f"{name}={value}")]
        return [
            *(self.engine, "run", "--rm", "--name", container, "--pull", "never", "--network", "none"),
            *("--shm-size", "1g", "--ulimit", "memlock=-1", *self.devices, *given),
            *("--mount", f"type=bind,src={program},dst=/qops-probe.py,readonly"),
            *("--entrypoint", "python3", self.image, "-u", "/qops-probe.py", *arguments),
        ]


@dataclass(slots=True)
class Tried:
    """One attempt that is over."""

    arm: PeerArm
    found: Attempt


def tried(name: str, runner: Runner, *, limit: float, told: Callable[[str], None] = lambda text: None) -> Tried:
    """Make one attempt and return how it ended; it lasts `limit` seconds at most. `told` hears how far it is.

    Whatever happens, Ctrl-C too, nothing of it is left running. UsageError when it cannot be begun.
    """
    environment = {**runner.environment, **FORCED[name]}
    container = f"qops-probe-{uuid.uuid4().hex[:12]}"
    begun = time.monotonic()
    visible = {"CUDA_VISIBLE_DEVICES": ",".join(map(str, runner.gpus))} if not runner.image else {}
    settings = {**SAID, **environment}
    try:
        process = subprocess.Popen(
            runner.words(container, settings),
            env={**os.environ, **settings, **visible},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            text=True,
            errors="replace",
        )
    except OSError as error:
        what = runner.engine or runner.python
        raise UsageError(f"{what} cannot be started: {error.strerror}", "name another: --python PATH") from None
    lines: list[str] = []
    reader = threading.Thread(target=_read, args=(process, lines), daemon=True)
    reader.start()
    try:
        in_time = _wait(
            process, begun, limit, lambda seconds: told(f"probing peer-to-peer: {name}, {seconds:.0f} s of {limit:.0f}")
        )
    finally:
        _end(process, runner, container)
        reader.join(MERCY)
        if process.stdout is not None and not reader.is_alive():
            process.stdout.close()
    found = peer_probe.attempt(tuple(lines), runner.gpus)
    if not found.groups and not found.refused and lines:
        found = replace(found, said=found.said or lines[-1].strip()[:300])
    ended = peer_probe.outcome(found, ranks=len(runner.gpus), in_time=in_time)
    arm = peer_probe.arm(name, environment, found, ended, time.monotonic() - begun)
    return Tried(arm, found)


def _read(process: "subprocess.Popen[str]", lines: list[str]) -> None:
    if process.stdout is not None:
        for line in process.stdout:
            if len(lines) < MOST:
                lines.append(line)


def _wait(process: "subprocess.Popen[str]", begun: float, limit: float, told: Callable[[float], None]) -> bool:
    """Return whether it ended in time."""
    while (seconds := time.monotonic() - begun) < limit:
        told(seconds)
        try:
            process.wait(min(1.0, limit - seconds))
        except subprocess.TimeoutExpired:
            continue
        return True
    return False


def _end(process: "subprocess.Popen[str]", runner: Runner, container: str) -> None:
    """Kill the attempt's process group, and its container; what is over already is no error."""
    if runner.image:
        subprocess.run(
            [runner.engine, "rm", "--force", container],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            start_new_session=True,  # a second Ctrl-C does not reach it
        )
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    try:
        process.wait(MERCY)
    except subprocess.TimeoutExpired:
        raise UsageError(
            f"process {process.pid} of the probe does not die: the driver holds it",
            "see dmesg for an Xid; resetting the GPUs or a reboot frees them",
        ) from None


def next_after(done: Sequence[PeerArm], *, wider: bool) -> str:
    """Return the attempt to make after those that were made, or "" when nothing more is to be learned.

    With `wider`, NCCL left pairs out that peer-to-peer could reach: `wide` tries them, unless it hung or gave wrong
    data already. `off` is what tells a fault of peer-to-peer from any other.
    """
    if not done:
        return AS_IS
    last = done[-1]
    if last.name == OFF or last.outcome is Outcome.FAILED:
        return ""
    return WIDE if last.name == AS_IS and last.outcome is Outcome.RIGHT and wider else OFF
