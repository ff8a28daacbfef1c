from typing import Any

import pytest
from msgspec.structs import replace

from qops.derive import reboot
from qops.derive.derived import Derived
from qops.derive.hardware_class import HardwareClass
from qops.errors import UsageError
from qops.evidence.boot import BootLoader
from qops.evidence.driver_setup import DriverSetup
from qops.evidence.gpu import DriverModule, Gpu, GpuProcess, Gpus
from qops.evidence.kernel import KernelCommandLine
from qops.evidence.readiness import Standing
from qops.evidence.text import Quote
from qops.plans.base import Plan
from qops.plans.reboot import PLAN

Q = Quote("standing", 1, "== standing")
NOW = "6.8.0-45-generic"
STANDING = Standing(Q, running=NOW, kernels=(NOW, "6.8.0-40-generic"))
MODULE = DriverModule("580.95.05", True, Q)
GPUS = Gpus((Gpu(0, Q, "NVIDIA H200"), Gpu(1, Q, "NVIDIA H200")), processes=())
SEEN: dict[type, Any] = {
    Standing: STANDING,
    DriverModule: MODULE,
    DriverSetup: DriverSetup(disk_version="580.95.05"),
    Gpus: GPUS,
}


def _plan(seen: dict[type, Any] | None = None, **options: Any) -> Plan:
    class_ = Derived(HardwareClass.HGX, "nvidia-smi shows 2 boards")
    return PLAN.make({**SEEN, **(seen or {})}, class_, {**PLAN.defaults, **options})


def test_nothing_is_due() -> None:
    plan = _plan()
    assert (plan.facts["wanted"], plan.refused, plan.differs) == (False, (), False)
    assert plan.facts["gpus"] == {"nvidia-smi": 2, "PCI": 0}


def test_a_newer_kernel_of_the_same_flavour_is_a_reason() -> None:
    newer = replace(STANDING, kernels=("6.8.0-51-generic", NOW))
    assert _plan({Standing: newer}).facts["reasons"] == [f"kernel 6.8.0-51-generic is installed and {NOW} runs"]
    other = replace(STANDING, kernels=("6.11.0-1002-nvidia", NOW))
    assert _plan({Standing: other}).facts["reasons"] == []
    gone = replace(STANDING, kernels=("6.8.0-51-generic",))
    assert _plan({Standing: gone}).facts["reasons"] == []  # the running one is no package's


def test_packages_options_and_driver_are_reasons() -> None:
    asked = _plan({Standing: replace(STANDING, required=("linux-base", "libc6"))})
    assert asked.facts["reasons"] == ["packages ask for it (linux-base, libc6)"]
    options = {
        KernelCommandLine: KernelCommandLine(("BOOT_IMAGE=/boot/vmlinuz-1", "root=/dev/sda1", "ro", "quiet"), Q),
        BootLoader: BootLoader("update-grub", Q, ("root=UUID=1", "ro", "iommu=pt")),
    }
    assert _plan(options).facts["reasons"] == ["the next boot has other kernel options (+iommu=pt -quiet)"]
    driver = _plan({DriverSetup: DriverSetup(disk_version="595.58.03")})
    assert driver.facts["reasons"] == ["driver 595.58.03 is installed and 580.95.05 is loaded"]


def test_a_reboot_is_refused_while_something_runs_unless_told() -> None:
    busy = {
        Standing: replace(STANDING, required=(), serving=("vllm-qwen.service",)),
        Gpus: replace(GPUS, processes=(GpuProcess(700, "0", "VLLM::Worker_TP0", None, Q),)),
    }
    refused = _plan(busy).refused
    assert "vllm-qwen.service is active; process 700 (VLLM::Worker_TP0) uses GPU 0" in refused[0]
    told = _plan(busy, while_serving="true")
    assert (told.refused, len(told.notes)) == ((), 2)
    assert _plan({**busy, Standing: replace(STANDING, serving=("vllm-qwen.service",))}).refused == ()  # none is due


def test_a_desktop_does_not_count() -> None:
    xorg = {Gpus: replace(GPUS, processes=(GpuProcess(900, "0", "/usr/lib/xorg/Xorg", None, Q),))}
    assert _plan(xorg, force=True).refused == ()


def test_what_could_not_be_seen_counts_as_busy() -> None:
    assert "nvidia-smi did not say" in _plan({Gpus: replace(GPUS, processes=None)}, force=True).refused[0]
    bare = {**SEEN, Gpus: replace(GPUS, processes=None)}
    del bare[DriverModule]
    assert reboot.busy(STANDING, bare[Gpus], None) == ()  # without a module nobody uses a GPU
    assert "no list of services was seen" in reboot.busy(None, GPUS, MODULE)


@pytest.mark.parametrize(("said", "wanted"), [("false", False), ("true", True), (True, True), ("no", False)])
def test_forced_as_the_command_line_has_it(said: object, wanted: bool) -> None:
    assert _plan(force=said).facts["wanted"] is wanted


@pytest.mark.parametrize("said", ["soon", True, 5, "-30"])
def test_a_time_that_cannot_be(said: object) -> None:
    with pytest.raises(UsageError, match="reboot_timeout"):
        _plan(timeout=said)
