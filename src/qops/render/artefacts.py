"""A planned service as files: a systemd unit and its environment, a compose file, a `docker run` line, an inventory."""

import json
import re
import shlex
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qops.plans.service import KEY, Service
from qops.recipes.library import BUILT_IN

if TYPE_CHECKING:
    import jinja2

_TEMPLATES = Path(__file__).parent / "templates"
_PLAIN = re.compile(r"[\w@+=:,./\-]+", re.ASCII)
_GIB = 1 << 30


def unit(service: Service) -> str:
    """Return the systemd unit. It holds no secret, and its image is there before it starts."""
    groups = [
        ("--rm", "--init"),
        ("--pull", "never"),
        ("--name", service.container),
        ("--env-file", service.environment_file),
        *_container(service),
        *_command(service),
    ]
    return _render(
        "unit.j2",
        service,
        engine={"vllm": "vLLM", "sglang": "SGLang"}[service.recipe.engine.name],
        version=service.version,
        served_name=service.recipe.served_name.replace("%", "%%"),
        state=service.home.removeprefix("/var/lib/"),
        gpus=",".join(map(str, service.gpus)),
        lines=" \\\n".join("    " + " ".join(map(_systemd, group)) for group in groups),
    )


def environment(service: Service) -> str:
    """Return the file that `docker run --env-file` reads: values as they are, without quotes."""
    return _render("environment.j2", service, environment=service.environment)


def compose(service: Service) -> str:
    """Return a compose file."""
    entry, *words = _entry(service)
    return _render(
        "compose.j2",
        service,
        name=service.name,
        image=service.image,
        entrypoint=[entry],
        command=words,
        environment=service.environment,
        publish=_published(service),
        mounts=service.mounts,
        gpus=service.gpus,
        shm=f"{service.shared_memory.value // _GIB}gb",
        limits=service.limits,
        capabilities=service.capabilities,
    )


def run(service: Service) -> str:
    """Return a `docker run` line for a shell."""
    groups = [
        ("docker", "run", "--detach", "--init"),
        ("--restart", "unless-stopped", "--stop-timeout", str(service.stop.value)),
        ("--name", service.container),
        *(("--env", f"{name}={value}") for name, value in service.environment.items()),
        *_container(service),
        *_command(service),
    ]
    return " \\\n  ".join(shlex.join(group) for group in groups) + "\n"


def instance(service: Service) -> str:
    """Return the service as the role inference_service takes it in an inventory."""
    folder = Path(service.recipe.place.rpartition(":")[0]).parent
    return _render(
        "instance.j2",
        service,
        name=service.name,
        gpus=list(service.gpus),
        port=service.port,
        listen=service.listen,
        folder="" if folder == BUILT_IN else str(folder.absolute()),
        key=service.key,
    )


ARTEFACTS: dict[str, Callable[[Service], str]] = {
    "unit": unit,
    "env": environment,
    "compose": compose,
    "run": run,
    "instance": instance,
}


def _container(service: Service) -> Iterator[tuple[str, ...]]:
    for gpu in service.gpus:
        yield "--device", f"nvidia.com/gpu={gpu}"
    yield "--publish", _published(service)
    yield "--shm-size", f"{service.shared_memory.value // _GIB}g"
    yield tuple(word for one in service.limits for word in ("--ulimit", f"{one.name}={one.value}"))
    for capability in service.capabilities:
        yield "--cap-add", capability
    for mount in service.mounts:
        if mount.writable:  # made where it is not there yet; what is only read has to be there
            yield "--volume", f"{mount.source}:{mount.target}"
        else:
            yield "--mount", f"type=bind,src={mount.source},dst={mount.target},readonly"


def _published(service: Service) -> str:
    listen = f"[{service.listen}]" if ":" in service.listen else service.listen
    return f"{listen}:{service.port}:{service.port}"


def _command(service: Service) -> Iterator[tuple[str, ...]]:
    """Yield the image and what runs in it, an option with its value in each group."""
    entry, *words = _entry(service)
    yield "--entrypoint", entry, service.image
    yield from _options(words)


def _options(words: Iterable[str]) -> Iterator[tuple[str, ...]]:
    group: list[str] = []
    for word in words:
        if word.startswith("--") and group:
            yield tuple(group)
            group = []
        group.append(word)
    if group:
        yield tuple(group)


def _entry(service: Service) -> tuple[str, ...]:
    """Return the program in the container and its arguments. A key is read there, so that no list shows it."""
    program = service.recipe.engine.name
    if not service.key:
        return (program, *service.arguments)
    script = f'export VLLM_API_KEY="$(cat {KEY})"; exec {program} "$@"'
    return ("/bin/sh", "-c", script, program, *service.arguments)


def _systemd(word: str) -> str:
    """Quote a word for ExecStart=: `%` and `$` are systemd's own, and it reads escapes in both kinds of quotes."""
    text = word.replace("%", "%%").replace("$", "$$").replace("\\", "\\\\")
    if _PLAIN.fullmatch(text):
        return text
    if "'" not in text:
        return f"'{text}'"
    return '"' + text.replace('"', '\\"') + '"'


def _yaml(value: Any) -> str:
    """Return a value as YAML in one line; compose would fill in what follows a `$`."""
    return json.dumps(value, ensure_ascii=False).replace("$", "$$")


@cache
def _environment() -> "jinja2.Environment":
    import jinja2

    made = jinja2.Environment(  # noqa: S701  # no HTML is written
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["yaml"] = _yaml
    made.filters["json"] = lambda value: json.dumps(value, ensure_ascii=False)
    return made


def _render(template: str, service: Service, **more: Any) -> str:
    common = {
        "recipe": service.recipe.name,
        "hardware": service.recipe.hardware.hardware_class,
        "container": service.container,
        "stop": service.stop.value,
    }
    return _environment().get_template(template).render(common | more)
