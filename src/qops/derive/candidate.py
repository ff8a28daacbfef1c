"""Whether an image that has not been started can run on a host's GPUs and driver."""

from qops.data.drivers import FULL_DRIVER, release
from qops.derive.gpu_target import runs_on
from qops.derive.image import ENGINES
from qops.evidence.gpu import Gpus
from qops.evidence.image import Candidate

Capability = tuple[int, int]

PACKAGES = ("torch", *ENGINES)  # without whose kernels nothing is served
# What uname -m calls the architectures that images are made for (OCI image index: GOARCH).
MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}


def capabilities(gpus: Gpus) -> tuple[Capability, ...]:
    """Return the compute capabilities of a host's GPUs, each once."""
    found = (release(gpu.compute_capability) for gpu in gpus.gpus)
    return tuple(sorted({(one[0], one[1]) for one in found if len(one) == 2}))


def lacking(candidate: Candidate, package: str, wanted: Capability) -> bool:
    """Return whether a package in an image has GPU code, and none of it for GPUs of a compute capability."""
    targets = candidate.look.kernels.get(package, ())
    return bool(targets) and not any(runs_on(target, wanted) for target in targets)


def only_late(candidate: Candidate, package: str, wanted: Capability) -> bool:
    """Return whether all that a package has for such GPUs is PTX, which the driver compiles when it is loaded."""
    fitting = [target for target in candidate.look.kernels.get(package, ()) if runs_on(target, wanted)]
    return bool(fitting) and all(target.startswith("compute_") for target in fitting)


def newer_than(cuda: str, driver: str) -> str:
    """Return the driver that came with a CUDA version ("13.1.0"), when the host's is older; else ""."""
    toolkit = ".".join(cuda.split(".")[:2])
    full = FULL_DRIVER.get(toolkit, "")
    host = release(driver)
    return full if full and host and host < release(full) else ""


def found_first(candidate: Candidate, path: str) -> bool:
    """Return whether the image tells its loader of the folder in which a library lies."""
    folder = path.rpartition("/")[0]
    return any(known.rstrip("/") == folder or _same(known, folder) for known in candidate.loader)


def _same(known: str, folder: str) -> bool:
    """/usr/local/cuda is a link to the folder with the version in its name."""
    plain = "/usr/local/cuda/"
    tail = folder.split("/", 4)[4:]
    return known.startswith(plain) and tail == [known.removeprefix(plain).rstrip("/")]


def targets(candidate: Candidate, package: str) -> str:
    """Return what a package has code for, in words."""
    return ", ".join(candidate.look.kernels.get(package, ())) or "nothing"
