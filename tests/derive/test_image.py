import pytest
from wanted_images import DIGEST, LOCAL, NAME, OTHER, QUOTE, image, images

from qops.derive.hardware_class import HardwareClass
from qops.derive.image import Runs, held, verdict, without_kernels
from qops.evidence.gpu import Gpu, Gpus
from qops.evidence.image import Compat, KeptImage, Look

HGX, PRO = HardwareClass.HGX, HardwareClass.RTXPRO


def test_by_digest_from_whichever_registry() -> None:
    assert held(images(image(), kept={}), "engine", NAME, DIGEST, "")
    assert held(images(image(), kept={}), "engine", NAME, OTHER, "") is None


def test_by_id() -> None:
    assert held(images(image(), kept={}), "engine", NAME, "", LOCAL)


def test_as_it_was_brought_here_from_an_archive() -> None:
    loaded = images(image(digests=()), kept={"engine": (KeptImage("sha256:gone", OTHER), KeptImage(LOCAL, DIGEST))})
    assert held(loaded, "engine", NAME, DIGEST, "")
    assert held(loaded, "other", NAME, DIGEST, "") is None


@pytest.mark.parametrize("tag", ["acme/engine:1", "docker.io/acme/engine:1"])
def test_by_its_tag_only_when_nothing_pins_it(tag: str) -> None:
    assert held(images(image(tags=(tag,), digests=()), kept={}), "engine", NAME, "", "")
    assert held(images(image(tags=(tag,), digests=()), kept={}), "engine", NAME, OTHER, "") is None


COMPAT = Compat("/usr/local/cuda/compat/libcuda.so.580.65.06", "580.65.06", (535, 550))


@pytest.mark.parametrize(
    ("cuda", "compat", "driver", "hardware", "runs", "words", "note"),
    [
        ("13.0.1", (), "580.95.05", PRO, Runs.YES, "the driver 580.95.05 runs CUDA 13.0", ""),
        ("13.1.0", (), "580.95.05", PRO, Runs.YES, "any driver from 580 on runs CUDA 13", "came with driver 590.44.01"),
        ("13.0.1", (), "570.172.08", PRO, Runs.NO, "needs driver 580 or later, and this host has 570.172.08", ""),
        ("13.0.1", (COMPAT,), "570.172.08", PRO, Runs.NO, "data centre GPUs alone (error 804)", ""),
        ("13.0.1", (COMPAT,), "550.90.07", HGX, Runs.YES, "its compat libcuda 580.65.06 runs CUDA 13.0", ""),
        ("13.0.1", (COMPAT,), "570.172.08", HGX, Runs.NO, "works on drivers 535, 550", ""),
        ("13.0.1", (COMPAT,), "595.58.03", HGX, Runs.YES, "the driver 595.58.03 runs", "stops with error 803"),
        ("", (), "580.95.05", PRO, Runs.UNKNOWN, "does not say which CUDA", ""),
        ("13.0.1", (), "", PRO, Runs.UNKNOWN, "the host's driver was not seen", ""),
        ("77.0", (), "580.95.05", PRO, Runs.UNKNOWN, "nothing is known of CUDA 77", ""),
    ],
)
def test_whether_a_driver_runs_an_image(
    cuda: str, compat: tuple[Compat, ...], driver: str, hardware: HardwareClass, runs: Runs, words: str, note: str
) -> None:
    judged = verdict(cuda, compat, driver, hardware)
    assert (judged.runs, words in judged.because, note in judged.note) == (runs, True, True), judged
    assert bool(judged.note) == bool(note)


SPARK = Gpus((Gpu(0, QUOTE, compute_capability="12.1"),))


@pytest.mark.parametrize(
    ("kernels", "words"),
    [
        (
            {"vllm": ("sm_90a", "sm_120a")},
            "vllm in it has no code for GPUs of compute capability 12.1, only sm_90a, sm_120a",
        ),
        ({"vllm": ("sm_120",)}, ""),
        ({"vllm": ("sm_120f",)}, ""),
        ({"vllm": ("compute_90",)}, ""),
        ({"torch": ("sm_90",)}, ""),
        ({}, ""),
    ],
)
def test_whether_an_engine_has_code_for_the_gpus(kernels: dict[str, tuple[str, ...]], words: str) -> None:
    assert without_kernels(Look(kernels=kernels), SPARK) == words
    assert without_kernels(Look(kernels=kernels), None) == ""
