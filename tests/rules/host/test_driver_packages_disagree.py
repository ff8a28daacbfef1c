from judging import found, judged, outcomes

from qops.evidence.packages import Package, Packages
from qops.evidence.text import Quote
from qops.rule import RuledOut
from qops.rules.host.driver_packages_disagree import driver_packages_disagree

QUOTE = Quote("packages", 1, "== packages dpkg amd64")


def packages(*rows: Package) -> Packages:
    return Packages("dpkg", {p.name: p for p in rows}, QUOTE)


def test_half_installed() -> None:
    (one,) = found(
        driver_packages_disagree,
        packages(Package("libcuda1", "595.71.05-1"), Package("nvidia-kernel-open-dkms", "595.71.05-1", whole=False)),
    )
    assert one.message == "packages of the driver are half installed: nvidia-kernel-open-dkms"


def test_a_fabric_manager_that_stayed_behind() -> None:
    rows = [Package(n, "595.71.05-1") for n in ("libcuda1", "nvidia-driver-cuda", "libnvidia-ml1")]
    (one,) = found(driver_packages_disagree, packages(*rows, Package("nvidia-fabricmanager", "595.58.03-1")))
    assert one.message == "the driver is 595.71.05, and these of its packages are not: nvidia-fabricmanager 595.58.03"


def test_look_alike_the_container_toolkit_has_versions_of_its_own() -> None:
    rows = [
        Package("libcuda1", "580.95.05-1"),
        Package("nvidia-container-toolkit", "1.19.1-1"),
        Package("libnvidia-container1", "1.19.1-1"),
        Package("nvidia-driver-pinning-580", "580.159.04-1"),
    ]
    (outcome,) = judged(driver_packages_disagree, packages(*rows)) or ()
    assert outcome == RuledOut("all packages of the driver are 580.95.05", (QUOTE,))


def test_a_host_without_the_driver() -> None:
    assert judged(driver_packages_disagree, packages(Package("bash", "5.2-1"))) == ()


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(driver_packages_disagree, {}) is None
