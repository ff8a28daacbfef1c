from judging import found, judged

from qops.evidence.cdi import Cdi, CdiNode, CdiSpec
from qops.evidence.gpu import DriverModule
from qops.evidence.text import Quote
from qops.rule import RuledOut
from qops.rules.host.cdi_spec_stale import cdi_spec_stale


def _spec(path: str, major: int | None = None, driver: str = "") -> CdiSpec:
    node = CdiNode("/dev/nvidia-uvm", Quote(path, 9, "path: /dev/nvidia-uvm"), major)
    cuda = Quote(path, 30, f"hostPath: /usr/lib/x86_64-linux-gnu/libcuda.so.{driver}")
    return CdiSpec(path, Quote(path, 1, "---"), "nvidia.com/gpu", "0.7.0", ("0", "all"), (node,), driver, cuda)


FRESH, OLD = "/var/run/cdi/nvidia.yaml", "/etc/cdi/nvidia.yaml"
LOADED = DriverModule("595.71.05", None, Quote("/proc/driver/nvidia/version", 1, "NVRM version: 595.71.05"))


def test_a_number_that_the_kernel_gave_to_something_else() -> None:
    (one,) = found(cdi_spec_stale, Cdi("1.20.0", (_spec(FRESH, 510),), majors={"nvidia-uvm": 509}))
    assert "gives /dev/nvidia-uvm the number 510, and the kernel has 509" in one.message
    assert one.evidence[0].line == 9


def test_the_device_file_tells_too() -> None:
    (one,) = found(cdi_spec_stale, Cdi("1.20.0", (_spec(FRESH, 510),), nodes={"/dev/nvidia-uvm": 507}))
    assert "the kernel has 507" in one.message


def test_the_library_of_a_driver_that_is_gone() -> None:
    (one,) = found(cdi_spec_stale, Cdi("1.20.0", (_spec(FRESH, driver="580.95.05"),)), LOADED)
    assert "libcuda of driver 580.95.05, and 595.71.05 is loaded" in one.message


def test_a_stale_file_that_another_one_hides_is_ruled_out() -> None:
    cdi = Cdi("1.20.0", (_spec(OLD, 510), _spec(FRESH, 509)), majors={"nvidia-uvm": 509})
    (one,) = judged(cdi_spec_stale, cdi) or ()
    assert isinstance(one, RuledOut)
    assert OLD in one.because


def test_a_stale_file_that_counts_is_found() -> None:
    (one,) = found(cdi_spec_stale, Cdi("1.20.0", (_spec(OLD, 510),), majors={"nvidia-uvm": 509}))
    assert OLD in one.message


def test_what_fits_and_what_says_no_number_is_left_alone() -> None:
    fits = Cdi("1.20.0", (_spec(FRESH, 509, "595.71.05"),), majors={"nvidia-uvm": 509})
    assert judged(cdi_spec_stale, fits, LOADED) == ()
    assert judged(cdi_spec_stale, Cdi("1.20.0", (_spec(FRESH),), majors={"nvidia-uvm": 509})) == ()
    assert judged(cdi_spec_stale, Cdi("1.20.0", (_spec(FRESH, 510),))) == ()  # nobody said what the kernel has
    assert judged(cdi_spec_stale, Cdi("1.20.0")) == ()


def test_nothing_seen_is_unknown() -> None:
    assert judged(cdi_spec_stale) is None
