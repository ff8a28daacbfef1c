"""What both package managers have in common: which packages are the driver's, and what a transaction may touch."""

import re

# What boots: no transaction of the driver may install, upgrade or remove it. Headers and the driver's own modules may.
KERNEL = re.compile(
    r"linux-(?:image|modules(?!-nvidia)|generic|virtual|lowlatency|signed|aws|azure|gcp|oracle|nvidia)(?:-|$)"
    r"|kernel(?:-core|-modules(?:-core|-extra)?|-rt.*|-64k.*|-uki.*)?$|grub|shim"
)

PIN = "nvidia-driver-pinning"


class Package:
    """An installed package. `version` is the package manager's."""

    def __init__(self, name, version, arch, held, whole):
        self.name, self.version, self.arch, self.held, self.whole = name, version, arch, held, whole


def driver_version(version, first_number):
    """Return the driver's version that a package's holds, "" for none: "3:580.95.05-1.el9" is 580.95.05."""
    text = (version.partition(":")[2] or version).partition("-")[0]
    numbers = text.split(".")
    good = len(numbers) > 1 and all(n.isdigit() for n in numbers) and int(numbers[0]) >= first_number
    return text if good else ""


def satisfied(wanted, version):
    """Return whether a version is the one, or of the branch, that is wanted."""
    return bool(version) and (version == wanted or version.startswith(f"{wanted}."))


class Family:
    """Tells the driver's packages from others, by what the plan says of names and versions."""

    def __init__(self, spec):
        self.names = re.compile(spec["family"])
        self.others = re.compile(spec["not_family"])
        self.modules = re.compile(spec["signed_modules"])
        self.first = spec["first_number"]

    def has(self, package):
        """Return whether a package bears the driver's version."""
        return bool(self.names.match(package.name)) and not self.others.match(package.name) and bool(self.of(package))

    def of(self, package):
        """Return the driver's version of a package."""
        return driver_version(package.version, self.first)

    def moves(self, name):
        """Return whether a package may be installed or removed with the driver."""
        ours = self.names.match(name) and not self.others.match(name)
        return bool(ours or self.modules.match(name) or PIN in name)


class Target:
    """A transaction: the driver's version after it, what is asked of the package manager, and what it removes."""

    def __init__(self, version, requests):
        self.version, self.requests = version, requests
