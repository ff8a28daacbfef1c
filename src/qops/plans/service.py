"""The plan of one service: what serves a recipe on a host, every setting with its reason, or why it cannot."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from qops.data import engines
from qops.derive import nccl_environment as nccl
from qops.derive import nccl_machine, service_cpu, service_limits, service_memory
from qops.derive.derived import Derived
from qops.derive.hardware_class import HardwareClass
from qops.derive.nccl_environment import Choice, Machine
from qops.derive.service import GIB, KEY_OF, Mount, Service
from qops.derive.service_fit import chosen, fit, on_host
from qops.derive.service_gpus import gpus_by
from qops.evidence.cdi import Cdi
from qops.evidence.container_engine import ContainerEngine
from qops.evidence.gpu import DriverModule, Gpu, Gpus, Topology
from qops.evidence.image import Images
from qops.evidence.kernel import Memory, System
from qops.evidence.model import Models
from qops.evidence.services import Services
from qops.flags import Command, Severity
from qops.plans.base import Seen
from qops.plans.service_model import Place, place
from qops.recipes import checking
from qops.recipes.recipe import Recipe

KINDS: tuple[type, ...] = (
    *nccl_machine.KINDS, Memory, Images, Models, ContainerEngine, Cdi, Services,
)  # fmt: skip
ROOT = "/var/lib/qops/models"  # the role model_store's default
_TEMPLATE = "/etc/qops-chat-template.jinja"  # in the container


@dataclass(frozen=True, slots=True)
class Options:
    """What the inventory or the command line chooses. Empty: the recipe's own, or the default. Times in seconds.

    `secrets` are names of variables alone.
    """

    name: str = ""
    gpus: tuple[int, ...] = ()
    port: int = 0
    address: str = "127.0.0.1"
    environment: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    runtime: str = "docker"
    token_seconds: int = 30
    load_seconds: int = 3600
    fail_safe: bool = True
    root: str = ROOT


@dataclass(frozen=True, slots=True)
class ServicePlan:
    """A recipe's service as it would be, and why.

    `choices` are all decisions, `reviewed` what becomes of the source's own settings.
    """

    service: Service
    recipe: Recipe
    version: str
    hardware: Derived[HardwareClass]
    choices: tuple[Choice, ...]
    reviewed: tuple[Choice, ...]
    refused: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def make(recipe: Recipe, seen: Seen, hardware: Derived[HardwareClass], options: Options) -> ServicePlan:
    """Return the plan to serve `recipe` on a host. Pure; it never raises."""
    engine = recipe.engine.name
    version = _version(recipe)
    indexes = chosen(recipe, options.gpus)
    gpus: Gpus | None = seen.get(Gpus)
    memory: Memory | None = seen.get(Memory)
    model = place(recipe, seen.get(Models), options.root)
    verdict = fit(
        recipe, hardware, gpus, indexes, memory, seen.get(DriverModule), seen.get(Images), weights=model.weights
    )
    machine = nccl_machine.machine(seen, indexes)
    told = nccl.environment(machine)
    own = _own(gpus, indexes)
    flag = service_memory.FRACTION[engine]
    share = service_memory.share(engine, hardware.value, recipe.flag(flag), own, memory, model.weights)
    threads = service_cpu.threads(engine, version, len(indexes), seen.get(System))
    bound = service_cpu.binding(engine, version, _names(indexes), seen.get(Topology), seen.get(System))
    drain, stop = service_limits.stopping(engine, version)
    most = recipe.hardware.memory_gib * recipe.hardware.gpus * GIB
    times = service_limits.timeouts(engine, model.weights or most, bound=model.weights is None)
    shared = service_limits.shared_memory(len(indexes), cached_images=recipe.flag("--mm-processor-cache-type") == "shm")
    derived = (*share.choices, *told.variables, *nccl.flags(engine, told), threads, *bound, *times, drain)
    of_engine = [_settled(one, recipe) for one in derived if one.name != "--cap-add"]
    capabilities = [one for one in derived if one.name == "--cap-add"]
    limits = service_limits.limits()
    added = [word for one in of_engine for word in _words(one, recipe)]
    variables = {one.name: one.value for one in of_engine if one.value is not None and not one.name.startswith("-")}
    offline = {"HF_HUB_OFFLINE": "1"} if model.path.startswith("/") else {}
    environment = {**recipe.environment, **offline, **variables, **options.environment}
    mounts, words = _command(recipe, model, options.port or recipe.port)
    raises: Services | None = seen.get(Services)
    key = KEY_OF.get(engine, "")
    service = Service(
        name=options.name or recipe.name.replace(".", "-"),
        words=(*words, *added),
        engine=engine,
        model=recipe.served_name,
        port=options.port or recipe.port,
        address=options.address,
        runtime=options.runtime,
        image=_image(recipe, seen.get(Images)),
        gpus=indexes,
        all_gpus=gpus is not None and set(indexes) == {gpu.index for gpu in gpus.gpus},
        environment=dict(sorted(environment.items())),
        secrets=options.secrets,
        key=key if key in options.secrets else "",
        mounts=mounts,
        shared_memory=shared.value,
        limits=tuple((one.name, one.value or "") for one in limits),
        capabilities=tuple(one.value for one in capabilities if one.value),
        stop=stop.value,
        token_seconds=options.token_seconds,
        load_seconds=options.load_seconds,
        fail_safe=options.fail_safe,
        raises_limits=raises is None or raises.raises_limits is not False,
    )
    by, why = gpus_by(service, seen.get(ContainerEngine), seen.get(Cdi))
    wrong, said = _checked(recipe, version, service, added)
    return ServicePlan(
        service=replace(service, gpus_by=by or "cdi"),
        recipe=recipe,
        version=version,
        hardware=hardware,
        choices=(
            *of_engine,
            *capabilities,
            Choice("--shm-size", f"{shared.value // GIB}g", shared.because),
            *(Choice(f"--ulimit {one.name}", one.value, one.because) for one in limits),
            Choice(f"{options.runtime} stop --time", str(stop.value), stop.because),
        ),
        reviewed=tuple(_reviewed(recipe, told, machine, of_engine)),
        refused=(*verdict.refused, *([share.refused] if share.refused else []), *wrong, *_key_refused(service)),
        unseen=tuple(dict.fromkeys((*verdict.unseen, *([share.unseen] if share.unseen else [])))),
        notes=(
            *verdict.notes,
            *([f"the GPUs are given by CDI, which may not work here: {why}"] if why else []),
            *_unsaid(recipe, version),
            *share.notes,
            *model.notes,
            *_to_bring(recipe),
            *said,
            *recipe.warnings,
        ),
    )


def _version(recipe: Recipe) -> str:
    """Return the release in the recipe's image, or the newest of its range where the tag does not say."""
    tag = Command(recipe.engine.name, "", (), image=recipe.image.name).tag
    known = checking.covered(recipe) or engines.load(recipe.engine.name).versions
    return tag or known[-1]


def _own(gpus: Gpus | None, indexes: Sequence[int]) -> tuple[Gpu, ...]:
    """Return the GPUs that serve."""
    return tuple(gpu for gpu in gpus.gpus if gpu.index in indexes) if gpus else ()


def _names(indexes: Sequence[int]) -> tuple[str, ...]:
    return tuple(f"GPU{index}" for index in indexes)


def _command(recipe: Recipe, model: Place, port: int) -> tuple[tuple[Mount, ...], tuple[str, ...]]:
    """Return the mounts and the words of what the recipe itself says."""
    mounts = [Mount(model.mount, model.mount)] if model.mount else []
    words = [recipe.engine.name, "serve", *(["--model-path"] if recipe.engine.name == "sglang" else []), model.path]
    words += ["--served-model-name", recipe.served_name, "--host", "0.0.0.0", "--port", str(port), *recipe.arguments]  # noqa: S104
    if recipe.chat_template and recipe.chat_template.file:
        mounts.append(Mount(recipe.chat_template.file, _TEMPLATE))
        words += ["--chat-template", _TEMPLATE]
    return tuple(mounts), tuple(words)


def _settled(choice: Choice, recipe: Recipe) -> Choice:
    """Return a decision with the recipe's word over it, where it has one."""
    flag = choice.name.startswith("--")
    given = recipe.flag(choice.name) if flag else recipe.environment.get(choice.name)
    if given is None or choice.because == service_memory.SAID:
        return choice
    if given == choice.value:
        return Choice(choice.name, given, f"{service_memory.SAID}, and the same is derived: {choice.because}")
    derived = "nothing" if choice.value is None else choice.value or "the flag"
    because = f"{service_memory.SAID}; derived would be {derived}: {choice.because}"
    return Choice(choice.name, given, because, choice.quotes)


def _words(choice: Choice, recipe: Recipe) -> tuple[str, ...]:
    """Return a decision as words of the engine's command; none where it is no flag, or the recipe has it already."""
    if choice.value is None or not choice.name.startswith("--"):
        return ()
    if recipe.flag(choice.name) is not None:
        return ()
    return (choice.name, *choice.value.split())


def _image(recipe: Recipe, images: Images | None) -> str:
    """Return the image by digest where the host knows it: a tag can become another image."""
    found = on_host(recipe, images)
    repository = recipe.image.name.partition("@")[0].rpartition(":")[0]
    pinned = [one for one in found.digests if one.partition("@")[0].endswith(repository)] if found else []
    return recipe.image.name if "@" in recipe.image.name or not pinned else pinned[0]


def _reviewed(recipe: Recipe, told: nccl.Environment, machine: Machine, choices: Sequence[Choice]) -> list[Choice]:
    of_nccl = {name: value for name, value in recipe.by_hand.items() if name.startswith("NCCL_")}
    found = list(nccl.review(of_nccl, told, machine))
    by_name = {one.name: one for one in choices}
    for name in recipe.by_hand:
        if name not in of_nccl:
            own = by_name.get(name)
            found.append(own or Choice(name, None, "nothing seen on this machine asks for it"))
    return found


def _checked(recipe: Recipe, version: str, service: Service, added: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return what the release refuses in the whole command, and what else is to be said of it."""
    first = engines.load(service.engine).versions[0]
    if engines.order(version) < engines.order(first):
        return [], [f"{service.engine} {version} was not read, so its flags are not checked"]
    found = checking.remarks(msgspec.structs.replace(recipe, environment=service.environment), version, added)
    said = [f"{service.engine} {version}, {one.flag}: {one.message}" for one in found]
    wrong = [text for one, text in zip(found, said, strict=True) if one.severity is Severity.ERROR]
    return wrong, [text for one, text in zip(found, said, strict=True) if one.severity is Severity.WARNING]


def _key_refused(service: Service) -> list[str]:
    if service.engine == "sglang" and KEY_OF["vllm"] in service.secrets:
        return ["SGLang takes its key from the command line alone, where everybody reads it: put a proxy before it"]
    return []


def _unsaid(recipe: Recipe, version: str) -> list[str]:
    if Command(recipe.engine.name, "", (), image=recipe.image.name).tag:
        return []
    return [f"image {recipe.image.name} does not say its release: this is planned for {version}"]


def _to_bring(recipe: Recipe) -> list[str]:
    template = recipe.chat_template
    return [f"chat template: {template.because}"] if template and template.file is None else []
