"""Images that were looked into and not started, made by hand."""

from scenes import quote

from qops.evidence.gpu import DriverModule, Gpu, Gpus
from qops.evidence.image import Candidate, Compat, Look

COMPAT = Compat("/usr/local/cuda-13.0/compat/libcuda.so.580.65.06", "580.65.06", (535, 550, 570))
BLACKWELL = {"torch": ("sm_100", "sm_120", "sm_90"), "vllm": ("sm_100f", "sm_120f", "sm_90a")}


def candidate(
    kernels: dict[str, tuple[str, ...]] = BLACKWELL,
    *,
    cuda: str = "13.0.1",
    compat: tuple[Compat, ...] = (),
    drivers: dict[str, str] | None = None,
    stubs: tuple[str, ...] = (),
    loader: tuple[str, ...] = (),
    architecture: str = "amd64",
    others: tuple[str, ...] = (),
) -> Candidate:
    look = Look(compat, kernels, {"torch": "2.11.0+cu130"}, drivers or {}, stubs)
    return Candidate("acme/engine:7", quote("image"), cuda, "", architecture, loader, look, others)


def gpus(name: str = "NVIDIA GeForce RTX 5090", capability: str = "12.0") -> Gpus:
    return Gpus((Gpu(0, quote(name), name=name, compute_capability=capability),))


def driver(version: str) -> DriverModule:
    return DriverModule(version, True, quote(f"NVRM version {version}"))
