"""What the NVIDIA driver's packages are called, by operating system, source, branch and flavour.

Sources:
- vendor's repositories, keyring, pinning packages, streams and locks: NVIDIA Driver Installation Guide (r590, pages
  "Version locking", "Kernel modules", "Compute-only and desktop installation"). From branch 590 on names carry no
  branch, on Ubuntu; on Debian they never did.
- Ubuntu's own archive with modules that Canonical signs: `ubuntu-drivers list --gpgpu` on 22.04, 24.04 and 26.04.
- the set without a desktop on Ubuntu from 590 on, and what NVSwitch machines need beside it:
  NVIDIA/gpu-driver-container, ubuntu26.04/install.sh and rhel10/install.sh.
- module streams of RHEL 9: NVIDIA/deepops, redhat-el8-plus.yml, and stackhpc/ansible-slurm-appliance (610-open).
In names: {branch}, {kernel} (which kernel metapackage: generic, generic-hwe-24.04, amd64), {deb} (amd64, arm64).
"""

from msgspec import Struct

from qops.pattern import lazy

REPOSITORY = "https://developer.download.nvidia.com/compute/cuda/repos"
REPOSITORY_MACHINES = {"x86_64": "x86_64", "aarch64": "sbsa"}
KEYRING = "cuda-keyring"  # the package with the vendor's key and its list of sources
KEYRING_FILE = "cuda-keyring_1.1-1_all.deb"  # 1.0-1 is gone since Ubuntu 24.04
RPM_KEY = "D42D0685.pub"
DEB_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}

LONG_TERM = "580"  # the vendor supports it until June 2028
FIRST_BLACKWELL = 570
# The vendor drops the closed modules with 620 ("Kernel modules" of that guide describes open ones alone).
FIRST_WITHOUT_PROPRIETARY = 620


class Names(Struct, frozen=True):
    """The packages of one source. `lead` is the one whose version is the driver's."""

    open: tuple[str, ...]
    proprietary: tuple[str, ...]
    lead: str
    fabric: tuple[str, ...]
    pin: str = ""  # {pin}: branch or full version
    stream: str = ""  # {stream}: open or dkms
    prebuilt: bool = False  # modules come built and signed


class System(Struct, frozen=True):
    """One operating system. `archive` are the branches that it offers itself, with signed modules."""

    manager: str  # "apt" | "dnf"
    repository: str  # folder of the vendor's repository
    headers: str  # metapackage of the kernel's headers, where none is to be told from the kernel's own
    archive: tuple[str, ...] = ()
    streams: bool = False


_FLAT_FABRIC = ("nvidia-fabricmanager", "libnvidia-nscq")
_SUFFIXED_FABRIC = ("nvidia-fabricmanager-{branch}", "libnvidia-nscq-{branch}")
_PIN = "nvidia-driver-pinning-{pin}"

DEBIAN = Names(
    open=("nvidia-driver-cuda", "nvidia-kernel-open-dkms"),
    proprietary=("nvidia-driver-cuda", "nvidia-kernel-dkms"),
    lead="nvidia-driver-cuda",
    fabric=_FLAT_FABRIC,
    pin=_PIN,
)
UBUNTU = Names(
    open=("nvidia-headless-no-dkms-open", "nvidia-dkms-open"),
    proprietary=("nvidia-headless-no-dkms", "nvidia-dkms"),
    lead="libnvidia-compute",
    fabric=_FLAT_FABRIC,
    pin=_PIN,
)
UBUNTU_TO_580 = Names(
    open=("nvidia-headless-{branch}-open", "nvidia-utils-{branch}"),
    proprietary=("nvidia-headless-{branch}", "nvidia-utils-{branch}"),
    lead="nvidia-utils-{branch}",
    fabric=_SUFFIXED_FABRIC,
    pin=_PIN,
)
UBUNTU_ARCHIVE = Names(
    open=(
        "linux-modules-nvidia-{branch}-server-open-{kernel}",
        "nvidia-headless-no-dkms-{branch}-server-open",
        "nvidia-utils-{branch}-server",
    ),
    proprietary=(
        "linux-modules-nvidia-{branch}-server-{kernel}",
        "nvidia-headless-no-dkms-{branch}-server",
        "nvidia-utils-{branch}-server",
    ),
    lead="nvidia-utils-{branch}-server",
    fabric=_SUFFIXED_FABRIC,
    prebuilt=True,
)
RHEL_9 = Names(
    open=("nvidia-driver-cuda", "kmod-nvidia-open-dkms"),
    proprietary=("nvidia-driver-cuda", "kmod-nvidia-latest-dkms"),
    lead="nvidia-driver-cuda",
    fabric=_FLAT_FABRIC,
    stream="nvidia-driver:{branch}-{stream}",
)
RHEL_10 = Names(
    open=RHEL_9.open, proprietary=RHEL_9.proprietary, lead="nvidia-driver-cuda", fabric=_FLAT_FABRIC
)  # no streams: the versions are locked
RPM_FABRIC_TO_580 = ("nvidia-fabric-manager", "libnvidia-nscq-{branch}")

NVLINK5 = ("nvlsm",)  # has a version of its own
NVLINK5_OF_DRIVER = ("libnvsdm",)  # of the driver's version, x86_64 only
FLAT_FROM = 590

SYSTEMS: dict[str, System] = {
    "debian 12": System("apt", "debian12", "linux-headers-{deb}"),
    "debian 13": System("apt", "debian13", "linux-headers-{deb}"),
    "ubuntu 22.04": System("apt", "ubuntu2204", "linux-headers-generic", archive=("580", "595")),
    "ubuntu 24.04": System("apt", "ubuntu2404", "linux-headers-generic", archive=("580", "595")),
    "ubuntu 26.04": System("apt", "ubuntu2604", "linux-headers-generic", archive=("595",)),
    "el 9": System("dnf", "rhel9", "kernel-devel-matched", streams=True),
    "el 10": System("dnf", "rhel10", "kernel-devel-matched"),
}
ENTERPRISE = ("rhel", "rocky", "almalinux", "centos", "ol")

# dkms is in none of RHEL's own repositories (NVIDIA's driver installation guide), and EPEL needs CodeReady Builder,
# which its likes call crb: docs.fedoraproject.org/en-US/epel/getting-started.
EPEL_OF_RHEL = (
    "subscription-manager repos --enable codeready-builder-for-rhel-{major}-{machine}-rpms; "
    "dnf install https://dl.fedoraproject.org/pub/epel/epel-release-latest-{major}.noarch.rpm"
)
EPEL_OF_LIKES = "dnf config-manager --set-enabled crb; dnf install epel-release"
EPEL_OF_ORACLE = "dnf config-manager --enable ol{major}_codeready_builder; dnf install oracle-epel-release-el{major}"


def epel(system: str, machine: str) -> str:
    """Return the commands that enable EPEL on `system`, "rocky 9.6"."""
    name, _, version = system.partition(" ")
    command = {"rhel": EPEL_OF_RHEL, "ol": EPEL_OF_ORACLE}.get(name, EPEL_OF_LIKES)
    return command.format(major=version.partition(".")[0], machine=machine)


# What bears the driver's version when it is installed: these names, and a first number that only drivers have. The
# container toolkit's packages have the names too, and versions that begin with 1.
FAMILY = lazy(
    r"nvidia|libnvidia-|libcuda1$|libnvcuvid1$|libnvsdm$|cuda-drivers|firmware-nvidia-|kmod-nvidia"
    r"|xserver-xorg-video-nvidia|xorg-x11-nvidia|libegl-nvidia|libglx-nvidia|libgles-nvidia|libgl1-nvidia"
)
# Ubuntu ships nvidia-settings and its libxnvctrl0 at a version of their own (510.47.03 beside a driver 580, seen on a
# rented H200), and any driver works with them.
NOT_OF_DRIVER = lazy(
    r"nvidia-driver-pinning|nvidia-container|libnvidia-container|nvidia-(?:gds|fs|settings)|libxnvctrl"
)
SIGNED_MODULES = lazy(r"linux-(?:modules|objects|signatures)-nvidia-")
FIRST_NUMBER = 300

# Patterns for unattended-upgrades, each matched from a name's beginning.
KEPT_FROM_UPGRADES = (
    "nvidia-", "libnvidia-", "libcuda1$", "libnvcuvid1$", "libnvsdm$", "cuda-drivers", "firmware-nvidia-",
    "linux-modules-nvidia-", "linux-objects-nvidia-", "linux-signatures-nvidia-", "xserver-xorg-video-nvidia",
    "nvlsm$",
)  # fmt: skip


def system(name: str) -> System | None:
    """Return the row of an operating system as os-release names it ("ubuntu 24.04", "rocky 9.6")."""
    distribution, _, version = name.partition(" ")
    if distribution in ENTERPRISE:
        return SYSTEMS.get(f"el {version.partition('.')[0]}")
    if distribution == "debian":
        return SYSTEMS.get(f"debian {version.partition('.')[0]}")
    return SYSTEMS.get(name)


def names(where: System, branch: str, *, archive: bool) -> Names:
    """Return how the packages of a branch are called."""
    if where.manager == "dnf":
        return RHEL_9 if where.streams else RHEL_10
    if archive:
        return UBUNTU_ARCHIVE
    if where.repository.startswith("debian"):
        return DEBIAN
    return UBUNTU if int(branch) >= FLAT_FROM else UBUNTU_TO_580
