"""The plan of one service: what serves a recipe on a host, every setting with its reason, or why it cannot."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from qops.data import engines
from qops.derive import nccl_environment as nccl
from qops.derive import service_cpu, service_limits, service_memory
from qops.derive.derived import Derived
from qops.derive.hardware_class import HardwareClass
from qops.derive.nccl_environment import Choice, Machine, Probed
from qops.derive.service_fit import chosen, fit, on_host
from qops.evidence.gpu import DriverModule, Gpus, P2pStatus, Topology
from qops.evidence.image import Images
from qops.evidence.kernel import Iommu, KernelCommandLine, Memory, System
from qops.evidence.model import Models
from qops.evidence.pcie import PcieTree
from qops.flags import Command, Severity
from qops.plans.base import Seen
from qops.plans.service_model import Place, place
from qops.recipes import checking
from qops.recipes.recipe import Recipe

KINDS: tuple[type, ...] = (
    Gpus, PcieTree, Topology, P2pStatus, Iommu, KernelCommandLine, System, Memory, DriverModule, Images, Models,
)  # fmt: skip
FOLDER = "/etc/qops/serve"  # environment files; the names are those of the role inference_service, which takes over
HOMES = "/var/lib/qops/engines"  # compiled kernels, and weights where nothing else keeps them
ROOT = "/var/lib/qops/models"  # the role model_store's default
_TEMPLATE = "/etc/qops-chat-template.jinja"  # in the container
KEY = "/run/secrets/api-key"  # in the container
_GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Options:
    """What the inventory or the command line chooses. Empty: the recipe's own, or the default."""

    name: str = ""
    gpus: tuple[int, ...] = ()
    port: int = 0
    listen: str = "127.0.0.1"  # the host's address on which the port is published
    api_key_file: str = ""  # a file on the host that root alone reads
    root: str = ROOT
    probed: Probed = Probed.NEVER


@dataclass(frozen=True, slots=True)
class Mount:
    """A folder or file of the host in the container."""

    source: str
    target: str
    writable: bool = False


@dataclass(frozen=True, slots=True)
class Service:
    """A service as it would be. `choices` are all decisions, `reviewed` what becomes of the source's own settings."""

    name: str
    recipe: Recipe
    version: str
    hardware: Derived[HardwareClass]
    image: str
    gpus: tuple[int, ...]
    listen: str
    port: int
    arguments: tuple[str, ...]  # what follows the engine's name: serve …
    environment: Mapping[str, str]
    mounts: tuple[Mount, ...]
    shared_memory: Derived[int]  # bytes
    limits: tuple[Choice, ...]
    capabilities: tuple[str, ...]
    stop: Derived[int]  # seconds
    choices: tuple[Choice, ...]
    reviewed: tuple[Choice, ...]
    key: bool = False  # the API key is a file in the container
    refused: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())

    @property
    def unit(self) -> str:
        """The unit's path."""
        return f"/etc/systemd/system/{self.container}.service"

    @property
    def environment_file(self) -> str:
        """The environment file's path. It holds no secret."""
        return f"{FOLDER}/{self.name}.env"

    @property
    def container(self) -> str:
        """The name of unit and container."""
        return f"qops-serve-{self.name}"

    @property
    def home(self) -> str:
        """The folder on the host that is the engine's cache."""
        return f"{HOMES}/{self.name}"


def make(recipe: Recipe, seen: Seen, hardware: Derived[HardwareClass], options: Options) -> Service:
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
    machine = _machine(seen, indexes, options.probed)
    told = nccl.environment(machine)
    own = [gpu for gpu in gpus.gpus if gpu.index in indexes] if gpus else []
    flag = service_memory.FRACTION[engine]
    share = service_memory.share(engine, hardware.value, recipe.flag(flag), own, memory, model.weights)
    threads = service_cpu.threads(engine, version, len(indexes), seen.get(System))
    bound = service_cpu.binding(engine, version, _names(indexes), seen.get(Topology), seen.get(System))
    drain, stop = service_limits.stopping(engine, version)
    most = recipe.hardware.memory_gib * recipe.hardware.gpus * _GIB
    times = service_limits.timeouts(engine, model.weights or most, bound=model.weights is None)
    shared = service_limits.shared_memory(len(indexes), cached_images=recipe.flag("--mm-processor-cache-type") == "shm")
    derived = (*share.choices, *told.variables, *nccl.flags(engine, told), threads, *bound, *times, drain)
    choices = tuple(_settled(one, recipe) for one in derived)
    port = options.port or recipe.port
    mounts, arguments = _command(recipe, model, options, port)
    arguments += [word for one in choices for word in _words(one, recipe)]
    offline = {"HF_HUB_OFFLINE": "1"} if model.path.startswith("/") else {}
    environment = dict(recipe.environment) | offline | {
        one.name: one.value for one in choices if one.value is not None and not one.name.startswith("-")
    }  # fmt: skip
    made = Service(
        name=_name(recipe, options),
        recipe=recipe,
        version=version,
        hardware=hardware,
        image=_image(recipe, seen.get(Images)),
        gpus=indexes,
        listen=options.listen,
        port=port,
        arguments=tuple(arguments),
        environment=dict(sorted(environment.items())),
        mounts=tuple(mounts),
        shared_memory=shared,
        limits=service_limits.limits(),
        capabilities=tuple(one.value for one in choices if one.name == "--cap-add" and one.value),
        stop=stop,
        choices=choices,
        reviewed=tuple(_reviewed(recipe, told, machine, choices)),
        key=bool(options.api_key_file),
        unseen=tuple(dict.fromkeys((*verdict.unseen, *([share.unseen] if share.unseen else [])))),
    )
    wrong, said = _checked(made)
    refused = (*verdict.refused, *([share.refused] if share.refused else []), *wrong, *_key_refused(made, engine))
    notes = (
        *verdict.notes,
        *_unsaid(recipe, version),
        *share.notes,
        *model.notes,
        *_to_bring(recipe),
        *said,
        *recipe.warnings,
    )
    return replace(made, refused=refused, notes=notes)


def _name(recipe: Recipe, options: Options) -> str:
    return options.name or recipe.name.replace(".", "-")


def _version(recipe: Recipe) -> str:
    """Return the release in the recipe's image, or the newest of its range where the tag does not say."""
    tag = Command(recipe.engine.name, "", (), image=recipe.image.name).tag
    known = checking.covered(recipe) or engines.load(recipe.engine.name).versions
    return tag or known[-1]


def _machine(seen: Seen, indexes: Sequence[int], probed: Probed) -> Machine:
    names = set(_names(indexes))
    topology: Topology | None = seen.get(Topology)
    if topology is not None:
        pairs = tuple(pair for pair in topology.pairs if {pair.a, pair.b} <= names)
        topology = Topology(pairs, topology.nic_pairs, topology.numa, topology.nics)
    return Machine(
        gpus=len(indexes),
        topology=topology,
        status=seen.get(P2pStatus),
        pcie=seen.get(PcieTree),
        iommu=seen.get(Iommu),
        command_line=seen.get(KernelCommandLine),
        system=seen.get(System),
        boards=seen.get(Gpus),
        probed=probed,
    )


def _names(indexes: Sequence[int]) -> tuple[str, ...]:
    return tuple(f"GPU{index}" for index in indexes)


def _command(recipe: Recipe, model: Place, options: Options, port: int) -> tuple[list[Mount], list[str]]:
    mounts = [Mount(f"{HOMES}/{_name(recipe, options)}", "/root/.cache", writable=True)]
    words = ["serve", *(["--model-path"] if recipe.engine.name == "sglang" else []), model.path]
    words += ["--served-model-name", recipe.served_name, "--host", "0.0.0.0", "--port", str(port), *recipe.arguments]  # noqa: S104
    if model.mount:
        mounts.append(Mount(model.mount, model.mount))
    if recipe.chat_template and recipe.chat_template.file:
        mounts.append(Mount(recipe.chat_template.file, _TEMPLATE))
        words += ["--chat-template", _TEMPLATE]
    if options.api_key_file:
        mounts.append(Mount(options.api_key_file, KEY))
    return mounts, words


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
    if choice.value is None or not choice.name.startswith("--") or choice.name == "--cap-add":
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


def _checked(made: Service) -> tuple[list[str], list[str]]:
    """Return what the release refuses in the whole command, and what else is to be said of it."""
    first = engines.load(made.recipe.engine.name).versions[0]
    if engines.order(made.version) < engines.order(first):
        return [], [f"{made.recipe.engine.name} {made.version} was not read, so its flags are not checked"]
    words = [word for one in made.choices for word in _words(one, made.recipe)]
    recipe = msgspec.structs.replace(made.recipe, environment=dict(made.environment))
    found = checking.remarks(recipe, made.version, words)
    said = [f"{made.recipe.engine.name} {made.version}, {one.flag}: {one.message}" for one in found]
    wrong = [text for one, text in zip(found, said, strict=True) if one.severity is Severity.ERROR]
    return wrong, [text for one, text in zip(found, said, strict=True) if one.severity is Severity.WARNING]


def _key_refused(made: Service, engine: str) -> list[str]:
    if made.key and engine == "sglang":
        return ["SGLang takes its key from the command line alone, where everybody reads it: put a proxy before it"]
    return []


def _unsaid(recipe: Recipe, version: str) -> list[str]:
    if Command(recipe.engine.name, "", (), image=recipe.image.name).tag:
        return []
    return [f"image {recipe.image.name} does not say its release: this is planned for {version}"]


def _to_bring(recipe: Recipe) -> list[str]:
    template = recipe.chat_template
    return [f"chat template: {template.because}"] if template and template.file is None else []
