from judging import found, judged, outcomes

from qops.evidence.driver_setup import DriverSetup
from qops.evidence.packages import Package, Packages
from qops.evidence.text import Quote
from qops.rule import RuledOut
from qops.rules.host.kernel_without_driver_module import kernel_without_driver_module

QUOTE = Quote("driver setup", 1, "== driver setup")
OLD, NEW = "6.12.57+deb13-amd64", "6.12.63+deb13-amd64"


def setup(*with_module: str) -> DriverSetup:
    return DriverSetup(kernel=OLD, kernels=(OLD, NEW), kernels_with_module=with_module, quote=QUOTE)


def test_a_kernel_that_was_installed_since() -> None:
    (one,) = found(kernel_without_driver_module, setup(OLD))
    assert one.message.startswith(f"there is no NVIDIA module for {NEW}: ")


def test_the_running_kernel() -> None:
    driver = Packages("dpkg", {"libcuda1": Package("libcuda1", "580.95.05-1")}, QUOTE)
    (one,) = found(kernel_without_driver_module, setup(), driver)
    assert f"{OLD}, {NEW} (the running one)" in one.message


def test_a_module_that_is_loaded_is_there_though_it_lies_nowhere() -> None:
    driver = Packages("dpkg", {"libcuda1": Package("libcuda1", "580.95.05-1")}, QUOTE)
    alone = DriverSetup(kernel=OLD, kernels=(OLD,), loaded=("nvidia_uvm", "nvidia"), quote=QUOTE)
    (outcome,) = judged(kernel_without_driver_module, alone, driver) or ()
    assert isinstance(outcome, RuledOut)


def test_a_module_for_each() -> None:
    (outcome,) = judged(kernel_without_driver_module, setup(OLD, NEW)) or ()
    assert isinstance(outcome, RuledOut)


def test_a_host_without_the_driver_has_no_modules_and_needs_none() -> None:
    assert judged(kernel_without_driver_module, setup()) == ()


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(kernel_without_driver_module, {}) is None
