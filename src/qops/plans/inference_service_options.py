"""The variables of the role inference_service, checked and made into services."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from qops import recipes
from qops.derive import service_limits
from qops.derive.derived import Derived
from qops.derive.hardware_class import HardwareClass
from qops.derive.service import DEFAULT_PORT, KEY_OF, Service, said
from qops.errors import UsageError
from qops.evidence.gpu import Gpus
from qops.evidence.services import Services
from qops.inventory.host import is_true
from qops.plans import inference_service_values as values
from qops.plans import service as planned
from qops.plans.base import Options, Seen
from qops.plans.inference_service_flags import checked

DEFAULTS: dict[str, Any] = {
    "manage": True,
    "instances": [],
    "secrets": {},
    "recipes": [],
    "restart": False,
    "release": "",
    "wait": 900,
    "keep": 5,
    "fail_safe": True,
}
KEYS = frozenset((
    "name", "recipe", "command", "runtime", "image", "gpus", "port", "address", "model", "environment", "volumes",
    "user", "drain", "token_seconds", "load_seconds", "smoke",
))  # fmt: skip
_OF_RECIPES = frozenset(("command", "image", "volumes", "user", "drain", "model"))
_DRAIN = 60  # seconds, of an engine that drains without a limit of its own
_MARGIN = 30  # seconds after the drain, until it is killed
_TOKEN, _LOAD = 30, 3600  # seconds


@dataclass(frozen=True, slots=True)
class Wanted:
    """The services of the inventory, why some cannot be, and notes about them."""

    services: list[Service]
    refused: list[str]
    notes: list[str]


def services(options: Options, seen: Seen, hardware: Derived[HardwareClass]) -> Wanted:
    """Return the services of the inventory. UsageError for a value that cannot be."""
    given = options["instances"]
    if not isinstance(given, list):
        raise UsageError("inference_service_instances is no list", "give a list of services, each with a name")
    limits = seen.get(Services)
    raises = limits is None or limits.raises_limits is not False
    secrets = values.secrets(options["secrets"])
    wanted = Wanted([], [], [])
    for one in given:
        name = values.name(one, KEYS)
        own = secrets.get(name, ())
        if "recipe" in one:
            made, refused, notes = _by_recipe(name, one, options, own, seen, hardware, only=len(given) == 1)
        else:
            made = _service(name, one, options, own, seen.get(Gpus), only=len(given) == 1)
            refused, notes = checked(made)
        wanted.refused.extend(refused)
        wanted.notes.extend(notes)
        smoke, keep = values.smoke(name, one.get("smoke")), number(options, "keep", "releases")
        wanted.services.append(replace(made, raises_limits=raises, smoke=smoke, keep=keep))
    names = [one.name for one in wanted.services]
    if strange := sorted(set(secrets) - set(names)):
        there = ", ".join(names) or "none"
        raise UsageError(f"inference_service_secrets names {strange[0]}, which is no service", f"there are: {there}")
    return wanted


def number(options: Options, name: str, of: str) -> int:
    """Return a variable that is a number of something. UsageError when it is none."""
    value = str(options[name])
    if not (value.isascii() and value.isdigit() and len(value) < 6):
        raise UsageError(f"inference_service_{name} cannot be {value!r}", f"give a number of {of}")
    return int(value)


def on(options: Options, name: str) -> bool:
    """Return a variable that is yes or no."""
    return is_true(options[name])


def _by_recipe(
    name: str,
    given: Mapping[str, Any],
    options: Options,
    secrets: tuple[str, ...],
    seen: Seen,
    hardware: Derived[HardwareClass],
    *,
    only: bool,
) -> tuple[Service, tuple[str, ...], tuple[str, ...]]:
    if strange := sorted(_OF_RECIPES & set(given)):
        raise UsageError(f"service {name} has a recipe, which says its {strange[0]}", "make a recipe of your own")
    folders = options["recipes"]
    if not isinstance(folders, list) or not all(isinstance(one, str) for one in folders):
        raise UsageError("inference_service_recipes is no list of folders", '["{{ inventory_dir }}/recipes"]')
    recipe = recipes.one(recipes.load(map(Path, folders)), str(given["recipe"]))
    gpus: Gpus | None = seen.get(Gpus)
    # Where the inventory says nothing, the recipe's own GPUs, or the first ones of a host that serves nothing else.
    chosen = (
        ()
        if "gpus" not in given and (only or recipe.gpus)
        else values.gpus(name, given.get("gpus"), gpus, only=only)[0]
    )
    runtime = str(given.get("runtime") or "docker")
    if runtime not in ("docker", "podman"):
        raise UsageError(f"service {name}: a recipe runs in an image, and not by {runtime}", "docker or podman")
    made = planned.make(
        recipe,
        seen,
        hardware,
        planned.Options(
            name=name,
            gpus=chosen,
            port=values.port(name, given.get("port"), None, recipe.port)[0],
            address=values.address(name, given.get("address") or "127.0.0.1"),
            environment=values.environment(name, given.get("environment")),
            secrets=secrets,
            runtime=runtime,
            token_seconds=values.number(name, "token_seconds", given, _TOKEN),
            load_seconds=values.number(name, "load_seconds", given, _LOAD),
            fail_safe=on(options, "fail_safe"),
            root=str(options.get("model_store_root") or planned.ROOT),
        ),
    )
    refused = tuple(f"service {name}: {why}" for why in (*made.refused, *made.unseen))
    return made.service, refused, tuple(f"service {name}: {note}" for note in made.notes)


def _service(
    name: str, given: Mapping[str, Any], options: Options, secrets: tuple[str, ...], gpus: Gpus | None, *, only: bool
) -> Service:
    image = values.image(name, given.get("image"))
    runtime = str(given.get("runtime") or ("docker" if image else "venv"))
    if runtime not in ("docker", "podman", "venv") or (runtime == "venv") == bool(image):
        told = f"runtime {runtime} {'with' if image else 'without'} an image cannot be"
        raise UsageError(f"service {name}: {told}", "docker and podman take an `image`, venv a command of the host")
    words = values.words(name, given.get("command"), runtime, secrets)
    told_of = said(words, image)
    if told_of.wrong:
        raise UsageError(f"service {name}: {told_of.wrong[0]}", "vLLM reads VLLM_API_KEY and HF_TOKEN")
    engine, bare = told_of.engine, runtime == "venv"
    port, to_tell = values.port(name, given.get("port"), told_of.port, DEFAULT_PORT.get(engine))
    model = str(given.get("model") or told_of.model)
    if not model:
        raise UsageError(f"service {name} does not say which model it serves", "give `model`, as /v1/models names it")
    address = values.address(name, given.get("address") or (told_of.address if bare else "") or "127.0.0.1")
    if engine and to_tell:
        words = (*words, "--port", str(port))
    if engine and not told_of.address:
        # In a container it must listen on all of the container's addresses; what others reach is the published one.
        words = (*words, "--host", address if bare else "0.0.0.0")  # noqa: S104
    chosen, all_gpus = values.gpus(name, given.get("gpus"), gpus, only=only)
    key = KEY_OF.get(engine, "")
    # vLLM cuts requests off at a stop unless it is told otherwise; SGLang waits for them without a limit.
    drain = (told_of.drain or 0) if engine == "vllm" else _DRAIN
    load = values.number(name, "load_seconds", given, _LOAD)
    return Service(
        name=name,
        words=words,
        engine=engine,
        model=model,
        port=port,
        address=address,
        runtime=runtime,
        image=image,
        gpus=chosen,
        all_gpus=all_gpus,
        environment=values.limits_of(engine, load) | values.environment(name, given.get("environment")),
        secrets=secrets,
        key=key if key in secrets else "",
        user=values.user(name, given.get("user")),
        mounts=values.volumes(name, given.get("volumes")),
        shared_memory=service_limits.shared_memory(max(1, len(chosen)), cached_images=True).value,
        limits=tuple((one.name, one.value or "") for one in service_limits.limits()),
        stop=values.number(name, "drain", given, drain) + _MARGIN,
        token_seconds=values.number(name, "token_seconds", given, _TOKEN),
        load_seconds=load,
        fail_safe=on(options, "fail_safe"),
    )
