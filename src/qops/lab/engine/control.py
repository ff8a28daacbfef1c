"""Starting, stopping and watching the engine of a host."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from qops.errors import UsageError
from qops.lab.docker import Container, Docker
from qops.lab.engine import unit
from qops.lab.errors import LabError
from qops.lab.place import Place, Say, locked

START_S = 300  # 25 to 60 s on two idle cores; several times that where others use them
ASK_EVERY_S = 1.0
SAY_EVERY_S = 5.0

RANKS = (1, 2)  # the models' heads can be split so, and a practice machine has memory for


@dataclass(frozen=True, slots=True)
class EngineStatus:
    """The engine of one host: its state, and what its log says last.

    `silent` is one whose /health is well and which gives no token; `none`, a host made without an engine.
    """

    host: str
    state: str
    stage: str


def start(place: Place, container: Container, ranks: int, model: str, say: Say) -> float:
    """Start the engine with `ranks` tensor-parallel ranks and wait until it answers; return the seconds it took."""
    began = time.monotonic()
    with locked(place, say) as lock:
        docker = Docker((lock,))
        require(docker, container)
        _refuse_second(docker, container)
        _ask(docker, container, "start", str(ranks), model)
        _wait(docker, container, say)
    return time.monotonic() - began


def stop(place: Place, container: Container, say: Say) -> None:
    """Stop the engine of a host; it does not come back at the next boot."""
    with locked(place, say) as lock:
        docker = Docker((lock,))
        require(docker, container)
        _ask(docker, container, "stop")


def status(containers: Sequence[Container]) -> tuple[EngineStatus, ...]:
    """Return how the engines of running hosts are."""
    docker = Docker()
    return tuple(_status(docker, one) for one in containers if one.status == "running")


def has_engine(docker: Docker, container: Container) -> bool:
    """Tell whether a host was made with an engine."""
    return docker.call("exec", container.name, "test", "-x", unit.PROGRAM, check=False).returncode == 0


def require(docker: Docker, container: Container) -> None:
    """Make sure that a host was made with an engine; UsageError says which scenarios are."""
    if not has_engine(docker, container):
        raise UsageError(f"{container.host} has no engine", "scenarios with `engine: vllm` have: spark, h200x2")


def _status(docker: Docker, one: Container) -> EngineStatus:
    if not has_engine(docker, one):
        return EngineStatus(one.host, "none", "")
    state = _ask(docker, one, "state")
    return EngineStatus(one.host, state, _ask(docker, one, "stage") if state != "stopped" else "")


def _refuse_second(docker: Docker, container: Container) -> None:
    # Each takes 3 to 5 GB and both cores; a second one makes both too slow to be of use.
    others = [one for one in docker.containers(container.lab) if one.name != container.name]
    for one in status(others):
        if one.state in {"serving", "silent", "starting"}:
            raise UsageError(
                f"the engine of {one.host} runs, and there is one at a time", f"qops lab engine stop {one.host}"
            )


def _wait(docker: Docker, container: Container, say: Say) -> None:
    began = told = time.monotonic()
    while True:
        now = time.monotonic()
        state = _ask(docker, container, "state")
        if state == "serving":
            break
        if state not in {"starting", "silent"}:
            raise LabError(
                f"the engine of {container.host} {state}: {_ask(docker, container, 'stage')}",
                f"qops lab ssh {container.host} -- journalctl -u vllm --no-pager | qops diagnose serve --from -",
            )
        if now - began > START_S:
            raise LabError(
                f"the engine of {container.host} does not serve after {START_S} s: {_ask(docker, container, 'stage')}",
                f"qops lab ssh {container.host} -- journalctl -u vllm --no-pager",
            )
        if now - told >= SAY_EVERY_S:
            told = now
            say(f"{container.host}: engine starting, {now - began:.0f} s: {_ask(docker, container, 'stage')}")
        time.sleep(ASK_EVERY_S)


def _ask(docker: Docker, container: Container, *words: str) -> str:
    done = docker.call("exec", container.name, unit.COMMAND, *words, timeout=START_S, check=False)
    if done.returncode != 0:
        why = (done.stderr or done.stdout).decode(errors="replace").strip().removeprefix("qops-lab-engine: ")
        raise LabError(f"{container.host}: {why}", f"qops lab engine status {container.host}")
    return done.stdout.decode(errors="replace").strip()
