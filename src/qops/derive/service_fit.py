"""Whether a host has what a recipe asks for: class, GPUs, memory, and a driver that runs the image."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from qops.derive.cuda_compat import host_driver
from qops.derive.derived import Derived
from qops.derive.hardware_class import HardwareClass
from qops.derive.image import Runs, held, verdict, without_kernels
from qops.derive.service_memory import GIB, UNIFIED
from qops.evidence.gpu import DriverModule, Gpu, Gpus
from qops.evidence.image import Image, Images, Look
from qops.evidence.kernel import Memory
from qops.recipes.recipe import Recipe


@dataclass(frozen=True, slots=True)
class Fit:
    """`refused`: why the recipe does not run here; `unseen`: what would have to be seen; `notes`: worth knowing."""

    refused: tuple[str, ...]
    unseen: tuple[str, ...]
    notes: tuple[str, ...]


def chosen(recipe: Recipe, said: Sequence[int]) -> tuple[int, ...]:
    """Return the indexes of the GPUs: those that are `said`, else the recipe's own, else the first ones."""
    return tuple(said) or recipe.gpus or tuple(range(recipe.hardware.gpus))


def fit(
    recipe: Recipe,
    hardware: Derived[HardwareClass],
    gpus: Gpus | None,
    indexes: Sequence[int],
    memory: Memory | None,
    driver: DriverModule | None,
    images: Images | None,
    weights: int | None = None,
) -> Fit:
    """Return whether `recipe` runs on the host's GPUs `indexes`. `weights`: the bytes of its checkpoint, if known."""
    refused, unseen = list(_asked(recipe, hardware, indexes)), []
    own = [gpu for gpu in gpus.gpus if gpu.index in indexes] if gpus else []
    if gpus is None or not gpus.gpus:
        unseen.append("no GPU was seen (nvidia-smi)")
    else:
        refused += _boards(recipe, gpus, own, indexes)
    unseen += _memory_unseen(recipe, hardware.value, own, memory)
    refused += _memory(recipe, hardware.value, own, memory, weights or recipe.model.bytes)
    wrong, notes = _image(recipe, hardware.value, gpus, driver, images)
    return Fit((*refused, *wrong), tuple(unseen), tuple(notes))


def _asked(recipe: Recipe, hardware: Derived[HardwareClass], indexes: Sequence[int]) -> Iterator[str]:
    wanted = recipe.hardware
    if recipe.retired:
        yield f"the recipe is retired: {recipe.retired}"
    if hardware.value != wanted.hardware_class:
        is_now = "of unknown class" if hardware.value is HardwareClass.UNKNOWN else hardware.value
        yield f"the recipe is for {wanted.hardware_class}, and this host is {is_now}: {hardware.because}"
    if len(set(indexes)) != wanted.gpus:
        yield f"the recipe serves on {wanted.gpus} GPUs, and {len(set(indexes))} are named"


def _boards(recipe: Recipe, gpus: Gpus, own: Sequence[Gpu], indexes: Sequence[int]) -> Iterator[str]:
    if len(gpus.gpus) < recipe.hardware.gpus:
        yield f"the recipe takes {recipe.hardware.gpus} GPUs, and this host shows {len(gpus.gpus)} (nvidia-smi)"
        return
    missing = sorted(set(indexes) - {gpu.index for gpu in own})
    if missing:
        yield f"this host has no GPU {', '.join(map(str, missing))}"
    for gpu in own:
        if gpu.remap_failed:
            yield f"GPU {gpu.index} could not replace broken memory: it has to be exchanged"


def _unified(recipe: Recipe, hardware: HardwareClass) -> bool:
    return hardware in UNIFIED or recipe.hardware.hardware_class in set(UNIFIED)


def _memory_unseen(recipe: Recipe, hardware: HardwareClass, own: Sequence[Gpu], memory: Memory | None) -> Iterator[str]:
    if _unified(recipe, hardware):
        if memory is None:
            yield "the size of main memory was not seen (/proc/meminfo)"
    elif any(gpu.memory_total is None for gpu in own):
        yield "how much memory the GPUs have was not seen (nvidia-smi)"


def _memory(
    recipe: Recipe, hardware: HardwareClass, own: Sequence[Gpu], memory: Memory | None, weights: int | None
) -> Iterator[str]:
    need = recipe.hardware.memory_gib
    if _unified(recipe, hardware):
        has = [("the machine", memory.total)] if memory else []
    else:
        has = [(f"GPU {gpu.index}", gpu.memory_total) for gpu in own if gpu.memory_total is not None]
    for name, size in has:
        if size < need * GIB:
            yield f"the recipe takes {need} GiB of memory, and {name} has {size / GIB:.1f}"
    if weights and has and len(has) in (1, recipe.hardware.gpus) and weights > sum(size for _, size in has):
        yield f"{weights / GIB:.0f} GiB of weights are more than {sum(size for _, size in has) / GIB:.0f} GiB of memory"


def on_host(recipe: Recipe, images: Images | None) -> Image | None:
    """Return the recipe's image, if it is on the host."""
    name, _, digest = recipe.image.name.partition("@")
    return held(images, recipe.name, name, digest, "") if images else None


def _image(
    recipe: Recipe, hardware: HardwareClass, gpus: Gpus | None, driver: DriverModule | None, images: Images | None
) -> tuple[list[str], list[str]]:
    found = on_host(recipe, images)
    look = images.looked.get(found.id, Look()) if images and found else Look()
    cuda = (found.cuda if found else "") or recipe.image.cuda
    judged = verdict(cuda, look.compat, host_driver(driver, gpus), hardware)
    notes = [f"image {recipe.image.name}: {text}" for text in (judged.note, without_kernels(look, gpus)) if text]
    if images and images.engine == "podman":
        notes.append("this host has podman, and the unit runs docker: the role inference_service writes one for podman")
    if judged.runs is Runs.NO:
        hint = "take an image of an older CUDA or a newer driver"
        return [f"image {recipe.image.name}: {judged.because}; {hint}"], notes
    if judged.runs is Runs.UNKNOWN:
        notes.append(f"image {recipe.image.name}: whether the driver runs it is not known: {judged.because}")
    return [], notes
