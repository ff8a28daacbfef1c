"""A service of the role inference_service that serves a recipe: what `qops plan --recipe` says, as a unit takes it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from qops.derive.derived import Derived
from qops.derive.hardware_class import HardwareClass
from qops.derive.service import Mount, Service
from qops.plans import service as planned
from qops.plans.base import Seen
from qops.recipes import Recipe

KEY_OF = {"vllm": "VLLM_API_KEY"}  # what an engine reads its API key from; SGLang has an option alone


@dataclass(frozen=True, slots=True)
class Chosen:
    """What the inventory chooses over a recipe. Empty: the recipe's own."""

    name: str
    gpus: tuple[int, ...] = ()
    port: int = 0
    address: str = "127.0.0.1"
    environment: Mapping[str, str] | None = None
    secrets: Sequence[str] = ()
    runtime: str = "docker"
    token_seconds: int = 30
    load_seconds: int = 3600
    fail_safe: bool = True


def from_recipe(
    recipe: Recipe, chosen: Chosen, seen: Seen, hardware: Derived[HardwareClass], there: Sequence[int]
) -> tuple[Service, tuple[str, ...], tuple[str, ...]]:
    """Return the service, why it cannot run here, and notes. `there` are the indexes of the host's GPUs."""
    options = planned.Options(name=chosen.name, gpus=chosen.gpus, port=chosen.port, listen=chosen.address)
    made = planned.make(recipe, seen, hardware, options)
    key = KEY_OF.get(recipe.engine.name, "")
    mounts = [Mount(m.source, m.target, m.writable) for m in made.mounts if m.target != "/root/.cache"]
    service = Service(
        name=chosen.name,
        words=(recipe.engine.name, *made.arguments),
        engine=recipe.engine.name,
        model=recipe.served_name,
        port=made.port,
        address=made.listen,
        runtime=chosen.runtime,
        image=made.image,
        gpus=made.gpus,
        all_gpus=set(made.gpus) == set(there),
        environment={**made.environment, **(chosen.environment or {})},
        secrets=tuple(chosen.secrets),
        key=key if key in chosen.secrets else "",
        mounts=tuple(mounts),
        shared_memory=made.shared_memory.value,
        limits=tuple((one.name, one.value or "") for one in made.limits),
        capabilities=made.capabilities,
        stop=made.stop.value,
        token_seconds=chosen.token_seconds,
        load_seconds=chosen.load_seconds,
        fail_safe=chosen.fail_safe,
    )
    refused = tuple(f"service {chosen.name}: {why}" for why in (*made.refused, *made.unseen))
    return service, refused, tuple(f"service {chosen.name}: {note}" for note in made.notes)
