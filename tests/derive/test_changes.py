from collections.abc import Mapping
from typing import Any

import pytest
from scenes import quote

from qops.derive.aspects import Matter
from qops.derive.aspects.faults import Faults
from qops.derive.changes import NOTHING, Change, changes
from qops.evidence.container import Container, Containers
from qops.evidence.gpu import DriverModule, Gpu, Gpus, Pair, Path, Topology
from qops.evidence.image import Image, Images
from qops.evidence.kernel import CpuFrequency, KernelCommandLine, Sysctls, System
from qops.evidence.packages import Package, Packages
from qops.evidence.process import Environment, Process, Processes, Variable

Seen = Mapping[type, Any]


def _seen(*values: Any) -> Seen:
    return {type(value): value for value in values}


def _gpu(index: int, **more: Any) -> Gpu:
    told = {"name": "NVIDIA H200", "uuid": f"GPU-{index}", "link_width": 16, "power_limit": 700.0, **more}
    return Gpu(index, quote("gpu"), **told)


def _changed(before: Seen, after: Seen) -> list[tuple[str, str, str, str]]:
    return [(c.what, c.subject, c.before, c.after) for c in changes(before, after).found]


def test_the_same_is_no_change_and_neither_is_what_changes_by_itself() -> None:
    before = _seen(Gpus((_gpu(0, temperature=41, power=124.0, sm_clock=1980, memory_used=1 << 30),)))
    after = _seen(Gpus((_gpu(0, temperature=77, power=690.1, sm_clock=1410, memory_used=9 << 30),)))
    assert _changed(before, after) == []
    assert changes(before, after).compared > 0


def test_a_gpu_that_went_away_and_one_that_was_swapped() -> None:
    before = _seen(Gpus((_gpu(0), _gpu(1))))
    assert _changed(before, _seen(Gpus((_gpu(0),)))) == [("GPU", "GPU 1", "NVIDIA H200 GPU-1", NOTHING)]
    swapped = _seen(Gpus((_gpu(0), _gpu(1, uuid="GPU-9"))))
    assert _changed(before, swapped) == [("GPU", "GPU 1", "NVIDIA H200 GPU-1", "NVIDIA H200 GPU-9")]


def test_what_can_stop_it_comes_before_what_slows_it() -> None:
    before = _seen(Gpus((_gpu(0),)), DriverModule("580.65.06", True, quote("d")), Sysctls({"vm.swappiness": "1"}))
    after = _seen(
        Gpus((_gpu(0, link_width=8, power_limit=450.0),)),
        DriverModule("590.44.01", True, quote("d")),
        Sysctls({"vm.swappiness": "60", "fs.file-max": "7"}),
        Faults(("gpu-fell-off-bus (GPU 3)",)),
    )
    found = changes({**before, Faults: Faults(())}, after).found
    assert [c.matter for c in found] == sorted((c.matter for c in found), key=list(Matter).index)
    assert [(c.what, c.before, c.after) for c in found] == [
        ("fault", NOTHING, "found"),
        ("driver", "580.65.06", "590.44.01"),
        ("PCIe width", "16", "8"),
        ("power limit", "700 W", "450 W"),
        ("sysctl", "1", "60"),
    ]


def test_an_aspect_that_one_side_does_not_show_is_no_change() -> None:
    found = changes(_seen(), _seen(Sysctls({"vm.swappiness": "60"})))
    assert (found.found, found.unseen, found.compared) == ((), ("sysctl (before)",), 0)


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        (
            KernelCommandLine(("BOOT_IMAGE=/vmlinuz-6.8", "ro", "iommu=pt"), quote("c")),
            KernelCommandLine(("BOOT_IMAGE=/vmlinuz-6.17", "ro", "iommu=off"), quote("c")),
            ("kernel command line", "iommu", "pt", "off"),
        ),
        (System("6.8.0-85", os="ubuntu 24.04"), System("6.17.0-6", os="ubuntu 24.04"), ("kernel", "kernel", "6.8.0-85", "6.17.0-6")),
        (
            Topology((Pair("GPU0", "GPU1", Path.NV, quote("t"), 18),)),
            Topology((Pair("GPU0", "GPU1", Path.NV, quote("t"), 16),)),
            ("path between GPUs", "GPU0 GPU1", "NV18", "NV16"),
        ),
        (CpuFrequency({"performance": 64}), CpuFrequency({"powersave": 64}), ("processor", "governors", "performance", "powersave")),
        (
            Packages("dpkg", {"nvidia-open": Package("nvidia-open", "580.65.06-1"), "vim": Package("vim", "1")}),
            Packages("dpkg", {"nvidia-open": Package("nvidia-open", "590.44.01-1"), "vim": Package("vim", "2")}),
            ("package", "nvidia-open", "580.65.06-1", "590.44.01-1"),
        ),
        (
            Images(images=(Image("sha256:a", quote("i"), tags=("e:7",), digests=("e@sha256:1",)),)),
            Images(images=(Image("sha256:b", quote("i"), tags=("e:7",), digests=("e@sha256:2",)),)),
            ("image", "e:7", "sha256:1", "sha256:2"),
        ),
        (
            Containers((Container("serve", quote("c"), image="e:7", running=True, pid=12),)),
            Containers((Container("serve", quote("c"), image="e:8", running=True, pid=99),)),
            ("image of container", "serve", "e:7", "e:8"),
        ),
        (
            Processes((Process(7, quote("p"), command="python3 -m vllm serve /m --tensor-parallel-size 4 --port=80"),)),
            Processes((Process(8, quote("p"), command="python3 -m vllm serve /m --tensor-parallel-size 8 --port=80"),)),
            ("engine option", "vllm --tensor-parallel-size", "4", "8"),
        ),
        (
            Environment((Variable("NCCL_P2P_LEVEL", "SYS", "pid 7", quote("e")), Variable("RANK", "0", "pid 7", quote("e")))),
            Environment((Variable("NCCL_P2P_LEVEL", "PHB", "pid 9", quote("e")), Variable("RANK", "1", "pid 9", quote("e")))),
            ("variable", "NCCL_P2P_LEVEL", "SYS", "PHB"),
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else None,
)  # fmt: skip
def test_one_change_of_each_kind(before: object, after: object, change: tuple[str, str, str, str]) -> None:
    assert _changed(_seen(before), _seen(after)) == [change]


def test_a_change_says_why_it_matters() -> None:
    (one,) = changes(_seen(Sysctls({"vm.swappiness": "1"})), _seen(Sysctls({"vm.swappiness": "9"}))).found
    assert one == Change("sysctl", "vm.swappiness", "1", "9", Matter.DIFFERS, "the kernel works by it")
