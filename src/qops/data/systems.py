"""The operating systems that the roles are for, and how each is tested."""

from enum import StrEnum

from msgspec import Struct


class Tested(StrEnum):
    """How it is known that the roles work there."""

    CONVERGED = "converged"  # roles are run on it in the lab, from bare to serving, with faults on the way
    RENDERED = "rendered"  # what roles would install and write there is made and compared; nobody ran it
    VENDOR = "vendor"  # its vendor owns driver and containers: the roles leave them and say so


class System(Struct, frozen=True):
    """One operating system: its name for people, and how to tell it."""

    title: str
    key: str  # System.os; RHEL and its likes by "el" and the major version
    tested: Tested
    family: str  # "debian" | "el"


# The lab has base images of Debian alone; issues of the others' packages are data with their sources.
ALL: tuple[System, ...] = (
    System("Debian 12", "debian 12", Tested.CONVERGED, "debian"),
    System("Debian 13", "debian 13", Tested.CONVERGED, "debian"),
    System("Ubuntu 22.04", "ubuntu 22.04", Tested.RENDERED, "debian"),
    System("Ubuntu 24.04", "ubuntu 24.04", Tested.RENDERED, "debian"),
    System("Ubuntu 26.04", "ubuntu 26.04", Tested.RENDERED, "debian"),
    System("DGX OS 7", "dgx 7", Tested.VENDOR, "debian"),
    System("RHEL, Rocky, Alma 9", "el 9", Tested.RENDERED, "el"),
    System("RHEL, Rocky, Alma 10", "el 10", Tested.RENDERED, "el"),
)
BY_KEY = {system.key: system for system in ALL}
LIKE_RHEL = ("rhel", "rocky", "almalinux", "centos", "ol")

# How kernels of a flavour are named, and what that means for a GPU machine. The first that matches counts.
KERNELS: tuple[tuple[str, str, str], ...] = (
    ("nvidia-64k", "the vendor's, with pages of 64 KiB", ""),
    ("nvidia", "the vendor's", ""),
    ("64k", "with pages of 64 KiB", "programs built for 4 KiB pages may not start on it"),
    ("realtime", "real-time", "drivers for it are built by DKMS alone, and NVIDIA does not test them"),
    ("lowlatency", "low-latency", ""),
    ("generic-hwe", "Ubuntu's, of a newer release", ""),
    ("generic", "Ubuntu's", ""),
    ("azure", "a cloud's", ""),
    ("aws", "a cloud's", ""),
    ("gcp", "a cloud's", ""),
    ("oracle", "a cloud's", ""),
    ("cloud", "Debian's for clouds", "it lacks the drivers of real machines"),
    ("amd64", "Debian's", ""),
    ("arm64", "Debian's", ""),
    ("el9", "Red Hat's", ""),
    ("el10", "Red Hat's", ""),
)


def key(system: str, dgx: str = "") -> str:
    """Return the key of an operating system ("rocky 9.5" is "el 9"). `dgx` is what /etc/dgx-release says."""
    if dgx:
        numbers = [word for word in dgx.split() if word[:1].isdigit()]
        return f"dgx {numbers[0].partition('.')[0]}" if numbers else "dgx 7"
    name, _, release = system.partition(" ")
    return f"el {release.partition('.')[0]}" if name in LIKE_RHEL else system


def kernel(release: str) -> tuple[str, str, str]:
    """Return flavour, what it is, and what to mind, of a kernel's release; each is "" for a flavour not known."""
    return next((row for row in KERNELS if f"-{row[0]}" in release or f".{row[0]}" in release), ("", "", ""))
