"""Whether an image that is wanted is on the host, and whether this host's driver runs what is in it."""

from enum import StrEnum

from msgspec import Struct

from qops.data.drivers import FULL_DRIVER, MINIMUM_BRANCH, release
from qops.derive.gpu_target import runs_on
from qops.derive.hardware_class import HardwareClass
from qops.evidence.gpu import Gpus
from qops.evidence.image import Compat, Image, Images, Look


def held(images: Images, name: str, image: str, digest: str, identity: str) -> Image | None:
    """Return the image on the host that is the wanted one: as it was brought here, by digest, by id, or by its tag."""
    by_id = {one.id: one for one in images.images}
    if not digest and not identity:
        return next((one for one in images.images if {image, _short(image)} & {_short(tag) for tag in one.tags}), None)
    for kept in images.kept.get(name, ()):
        if (kept.digest, kept.asked_id) == (digest, identity) and kept.local in by_id:
            return by_id[kept.local]
    if identity in by_id:
        return by_id[identity]
    return next((one for one in images.images if digest and any(d.endswith(f"@{digest}") for d in one.digests)), None)


def _short(name: str) -> str:
    """Return a name as docker writes it: without its own registry."""
    return name.removeprefix("docker.io/").removeprefix("library/")


class Runs(StrEnum):
    """Whether a driver runs an image's CUDA."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class Verdict(Struct, frozen=True):
    """`note` is what a person should know although it runs; both are clauses."""

    runs: Runs
    because: str
    note: str = ""


def verdict(cuda: str, compat: tuple[Compat, ...], driver: str, hardware: HardwareClass) -> Verdict:
    """Return whether the host's driver runs an image of a CUDA version ("13.0.1"), and why.

    Minor-version compatibility and forward compatibility: docs.nvidia.com/deploy/cuda-compatibility. Forward
    compatibility is for data centre GPUs; others answer with error 804.
    """
    toolkit, host = release(cuda), release(driver)
    if not toolkit:
        return Verdict(Runs.UNKNOWN, "the image does not say which CUDA is in it (no CUDA_VERSION)")
    minimum = MINIMUM_BRANCH.get(toolkit[0])
    if not host or minimum is None:
        why = "the host's driver was not seen" if not host else f"nothing is known of CUDA {toolkit[0]}"
        return Verdict(Runs.UNKNOWN, why)
    name = ".".join(str(part) for part in toolkit[:2])
    older = next((one for one in compat if () < release(one.version) < host), None)
    stale = (
        f"its compat libcuda {older.version} ({older.path}) is older than the driver {driver}: an engine that finds it"
        " first stops with error 803"
        if older
        else ""
    )
    if host[0] >= minimum:
        full = FULL_DRIVER.get(name, "")
        if full and host < release(full):
            partly = f"CUDA {name} came with driver {full}: its newer calls, and code that is compiled late, may fail"
            return Verdict(Runs.YES, f"any driver from {minimum} on runs CUDA {toolkit[0]}", stale or partly)
        return Verdict(Runs.YES, f"the driver {driver} runs CUDA {name}", stale)
    need = f"CUDA {name} needs driver {minimum} or later, and this host has {driver}"
    newer = next((one for one in compat if release(one.version) > host), None)
    if newer is None:
        return Verdict(Runs.NO, need)
    if hardware is HardwareClass.UNKNOWN:
        return Verdict(Runs.UNKNOWN, f"{need}; whether its GPUs take the compat libcuda {newer.version} is not known")
    if hardware is not HardwareClass.HGX:
        return Verdict(Runs.NO, f"{need}; its compat libcuda {newer.version} is for data centre GPUs alone (error 804)")
    if newer.drivers and host[0] not in newer.drivers:
        known = ", ".join(map(str, newer.drivers))
        return Verdict(Runs.NO, f"{need}; its compat libcuda {newer.version} works on drivers {known}")
    return Verdict(Runs.YES, f"its compat libcuda {newer.version} runs CUDA {name} on the driver {driver}")


ENGINES = ("vllm", "sgl_kernel")  # the Python packages in which engines have their own kernels


def without_kernels(look: Look | None, gpus: Gpus | None) -> str:
    """Return which engine in an image has no code for which GPUs of the host, as a clause, or "".

    An engine may still run there, with kernels that it compiles when it starts, or those of other packages.
    """
    capabilities = {release(gpu.compute_capability) for gpu in gpus.gpus} if gpus else set()
    for name in ENGINES:
        targets = look.kernels.get(name, ()) if look else ()
        for major, minor in sorted(c for c in capabilities if len(c) == 2) if targets else ():
            if not any(runs_on(target, (major, minor)) for target in targets):
                made_for = ", ".join(targets)
                return f"{name} in it has no code for GPUs of compute capability {major}.{minor}, only {made_for}"
    return ""
