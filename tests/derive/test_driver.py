import pytest

from qops.data import driver_packages as data
from qops.derive import driver, driver_packages, driver_state
from qops.derive.driver_packages import PackageSet, package_set
from qops.derive.hardware_class import HardwareClass
from qops.evidence.driver_setup import DriverSetup
from qops.evidence.gpu import DriverParams
from qops.evidence.packages import Package, Packages

NONE = Packages("dpkg", {})
PRO = "NVIDIA RTX PRO 6000 Blackwell Server Edition"
HGX = HardwareClass.HGX


def _set(
    system: str, version: str, flavour: str = "open", kernel: str = "", packages: Packages = NONE, **options: bool
) -> PackageSet:
    where = data.system(system)
    assert where is not None
    chosen = {"archive": False, "fabric": False, "nvlink5": False, **options}
    return package_set(
        where, machine="x86_64", version=version, flavour=flavour, packages=packages, kernel=kernel, **chosen
    )


@pytest.mark.parametrize(
    ("name", "open_only"),
    [
        ("NVIDIA GB10", True),
        (PRO, True),
        ("NVIDIA GeForce RTX 5090", True),
        ("NVIDIA B200", True),
        ("VGA compatible controller: NVIDIA Corporation Device 2b85 (rev a1)", True),
        ("3D controller: NVIDIA Corporation GB100 [B200] [10de:2901]", True),
        ("NVIDIA H100 80GB HBM3", False),
        ("NVIDIA H200", False),
        ("NVIDIA RTX 6000 Ada Generation", False),
        ("NVIDIA GeForce RTX 4090", False),
    ],
)
def test_which_boards_are_blackwell(name: str, open_only: bool) -> None:
    assert bool(driver.blackwell([name])) is open_only


def test_the_proprietary_module_is_refused_for_blackwell() -> None:
    assert "does not know NVIDIA RTX PRO 6000" in driver.refused_flavour(
        [PRO], HardwareClass.RTXPRO, "proprietary", "580"
    )
    assert driver.refused_flavour([], HardwareClass.RTX5090, "proprietary", "580")
    assert driver.refused_flavour(["NVIDIA H100 80GB HBM3"], HGX, "proprietary", "580") == ""
    assert "dropped it with 620" in driver.refused_flavour(["NVIDIA H200"], HGX, "proprietary", "620")
    assert driver.refused_flavour([PRO], HardwareClass.RTXPRO, "open", "580") == ""


@pytest.mark.parametrize(
    ("chosen", "installed", "names", "value"),
    [
        ("595", "580.95.05", [PRO], "595"),
        ("auto", "595.71.05", [PRO], "595"),  # what is there stays
        ("auto", "", [PRO], "580"),
        ("auto", "550.163.01", [PRO], "580"),
        ("auto", "550.163.01", ["NVIDIA H200"], "550"),
    ],
)
def test_which_version(chosen: str, installed: str, names: list[str], value: str) -> None:
    assert driver.version(chosen, installed, names, HGX).value == value


@pytest.mark.parametrize(
    ("text", "good"), [("580", True), ("580.95.05", True), ("580.95", True), ("latest", False), ("580.*", False)]
)
def test_what_is_a_version(text: str, good: bool) -> None:
    assert driver.is_version(text) is good


def test_a_branch_or_a_full_version_is_met() -> None:
    assert driver.satisfied("580", "580.95.05") and driver.satisfied("580.95.05", "580.95.05")
    assert not driver.satisfied("580.95.05", "580.95.06")
    assert not driver.satisfied("58", "580.95.05") and not driver.satisfied("580", "")


@pytest.mark.parametrize(
    ("version", "release"),
    [
        ("580.95.05-1", "580.95.05"),
        ("580.105.08-0ubuntu0.24.04.1", "580.105.08"),
        ("3:595.71.05-1.el9", "595.71.05"),
        ("1.19.1-1", ""),
        ("6.8.0-87.88", ""),
        ("", ""),
        ("²80.1-1", ""),
    ],
)
def test_the_drivers_version_in_a_packages(version: str, release: str) -> None:
    assert driver_packages.driver_version(version) == release


@pytest.mark.parametrize(
    ("system", "version", "versioned", "plain", "pin", "stream"),
    [
        ("debian 12", "580", "nvidia-driver-cuda nvidia-kernel-open-dkms", "dkms linux-headers-amd64", "580", ""),
        ("debian 13", "595.71.05", "nvidia-driver-cuda nvidia-kernel-open-dkms", "dkms linux-headers-amd64",
         "595.71.05", ""),
        ("ubuntu 22.04", "580", "nvidia-headless-580-open nvidia-utils-580", "dkms linux-headers-generic", "580", ""),
        ("ubuntu 24.04", "595", "nvidia-headless-no-dkms-open nvidia-dkms-open", "dkms linux-headers-generic", "595", ""),
        ("ubuntu 26.04", "595", "nvidia-headless-no-dkms-open nvidia-dkms-open", "dkms linux-headers-generic zstd",
         "595", ""),
        ("rocky 9.6", "580", "nvidia-driver-cuda kmod-nvidia-open-dkms", "dkms kernel-devel-matched", "",
         "nvidia-driver:580-open"),
        ("rhel 9.7", "610", "nvidia-driver-cuda kmod-nvidia-open-dkms", "dkms kernel-devel-matched", "",
         "nvidia-driver:610-open"),
        ("almalinux 10.1", "595", "nvidia-driver-cuda kmod-nvidia-open-dkms", "dkms kernel-devel-matched", "", ""),
    ],
)  # fmt: skip
def test_the_packages_of_each_system(
    system: str, version: str, versioned: str, plain: str, pin: str, stream: str
) -> None:
    found = _set(system, version)
    assert " ".join(found.versioned) == versioned
    assert " ".join(found.plain) == plain
    assert found.pin == (f"nvidia-driver-pinning-{pin}" if pin else "")
    assert found.stream == stream


def test_proprietary_packages() -> None:
    assert _set("debian 12", "580", "proprietary").versioned == ("nvidia-driver-cuda", "nvidia-kernel-dkms")
    assert _set("ol 9.5", "580", "proprietary").stream == "nvidia-driver:580-dkms"


def test_signed_modules_follow_the_kernel_that_the_host_has() -> None:
    rows = ("linux-image-6.8.0-87-generic", "linux-image-generic", "linux-image-generic-hwe-24.04")
    kernels = Packages("dpkg", {n: Package(n, "6.14.0-37.37") for n in rows})
    found = _set("ubuntu 24.04", "580", kernel="6.14.0-37-generic", packages=kernels, archive=True)
    assert found.prebuilt and found.pin == ""
    assert found.plain == ("linux-modules-nvidia-580-server-open-generic-hwe-24.04",)
    assert found.versioned == ("nvidia-headless-no-dkms-580-server-open", "nvidia-utils-580-server")
    assert found.held_besides == ("linux-image-generic-hwe-24.04",)
    cloud = Packages("dpkg", {n: Package(n, "1") for n in ("linux-image-amd64", "linux-image-cloud-amd64")})
    assert "linux-headers-cloud-amd64" in _set("debian 12", "580", kernel="6.1.0-41-cloud-amd64", packages=cloud).plain


def test_an_nvswitch_machine_gets_the_manager_of_exactly_the_drivers_version() -> None:
    h200 = _set("debian 12", "595.71.05", fabric=True)
    assert h200.versioned[-2:] == ("nvidia-fabricmanager", "libnvidia-nscq")
    b200 = _set("ubuntu 24.04", "580", fabric=True, nvlink5=True)
    assert b200.versioned[-3:] == ("nvidia-fabricmanager-580", "libnvidia-nscq-580", "libnvsdm")
    assert "nvlsm" in b200.plain  # with a version of its own
    assert "nvidia-fabric-manager" in _set("rocky 9.6", "580", fabric=True).versioned
    assert "nvidia-fabricmanager" in _set("rocky 9.6", "595", fabric=True).versioned


def test_what_is_held() -> None:
    rows = {
        "libcuda1": "580.95.05-1",
        "nvidia-container-toolkit": "1.19.1-1",
        "nvidia-driver-pinning-580": "580.159.04-1",
        "linux-modules-nvidia-580-server-open-6.8.0-87-generic": "6.8.0-87.88",
        "linux-image-generic": "6.8.0.87.88",
        "bash": "5.2-1",
    }
    packages = Packages("dpkg", {n: Package(n, v) for n, v in rows.items()})
    wanted = PackageSet("apt", "archive", "libcuda1", (), (), held_besides=("linux-image-generic",))
    assert driver_packages.to_hold(packages, wanted) == (
        "libcuda1",
        "linux-image-generic",
        "linux-modules-nvidia-580-server-open-6.8.0-87-generic",
    )


def test_where_the_driver_comes_from() -> None:
    ubuntu, debian = data.system("ubuntu 24.04"), data.system("debian 12")
    assert ubuntu and debian
    assert driver.archive(ubuntu, "auto", "580", secure_boot=True, installed=()).value
    assert not driver.archive(ubuntu, "auto", "610", secure_boot=True, installed=()).value
    assert not driver.archive(ubuntu, "auto", "580.95.05", secure_boot=False, installed=()).value
    assert not driver.archive(ubuntu, "auto", "580", secure_boot=False, installed=("nvidia-dkms-580-open",)).value
    assert not driver.archive(debian, "auto", "580", secure_boot=True, installed=()).value
    assert driver.archive(ubuntu, "archive", "610", secure_boot=False, installed=()).value


def test_parameters_that_are_the_same() -> None:
    now = DriverParams({"DeviceFileMode": "438", "RegistryDwords": "", "UsePageAttributeTable": "4294967295"}, "params")
    assert not driver_state.parameter_differs("DeviceFileMode", "0x1b6", now)
    assert not driver_state.parameter_differs("UsePageAttributeTable", "-1", now)
    assert driver_state.parameter_differs("RegistryDwords", "ForceP2P=0x11", now)
    assert not driver_state.parameter_differs("Unknown", "1", now)


def test_the_flavour_that_is_installed() -> None:
    closed = Packages("dpkg", {"nvidia-kernel-dkms": Package("nvidia-kernel-dkms", "580.95.05-1")})
    assert driver_state.installed_flavour(closed, DriverSetup()) == "proprietary"
    assert driver_state.installed_flavour(closed, DriverSetup(disk_license="Dual MIT/GPL")) == "open"
    assert driver_state.installed_flavour(NONE, DriverSetup()) == ""
