"""A planned service as files: a systemd unit and its environment, a compose file, a `docker run` line, an inventory."""

import json
import shlex
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qops.derive import service_unit
from qops.derive.service import GIB
from qops.plans.service import ServicePlan
from qops.recipes.library import BUILT_IN

if TYPE_CHECKING:
    import jinja2

_TEMPLATES = Path(__file__).parent / "templates"


def unit(plan: ServicePlan) -> str:
    """Return the unit of the role inference_service, without the role's programs: it runs on a host that has none."""
    return service_unit.unit(plan.service, alone=True)


def environment(plan: ServicePlan) -> str:
    """Return the file that the unit's `docker run --env-file` reads: the role's own."""
    return service_unit.environment(plan.service)


def compose(plan: ServicePlan) -> str:
    """Return a compose file."""
    service = plan.service
    program, words = service_unit.entry(service)
    return _render(
        "compose.j2",
        plan,
        program=program,
        words=words,
        container=service_unit.container_name(service.name),
        publish=service_unit.published(service),
        mounts=service_unit.mounts(service),
        devices=service_unit.devices(service),
        shm=service.shared_memory // GIB,
    )


def run(plan: ServicePlan) -> str:
    """Return a `docker run` line for a shell."""
    service = plan.service
    words = [
        *("docker", "run", "--detach", "--init", "--restart=unless-stopped", f"--stop-timeout={service.stop}"),
        f"--name={service_unit.container_name(service.name)}",
        *(f"--env={name}={value}" for name, value in service.environment.items()),
        *service_unit.container(service),
    ]
    cache = f"mkdir -p {service_unit.engine_home(service.name)}\n"
    return cache + " \\\n  ".join(shlex.join(group) for group in service_unit.by_option(words)) + "\n"


def instance(plan: ServicePlan) -> str:
    """Return the service as the role inference_service takes it in an inventory."""
    folder = Path(plan.recipe.place.rpartition(":")[0]).parent
    return _render("instance.j2", plan, folder="" if folder == BUILT_IN else str(folder.absolute()))


ARTEFACTS: dict[str, Callable[[ServicePlan], str]] = {
    "unit": unit,
    "env": environment,
    "compose": compose,
    "run": run,
    "instance": instance,
}


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


def _render(template: str, plan: ServicePlan, **more: Any) -> str:
    return _environment().get_template(template).render(plan=plan, service=plan.service, **more)
