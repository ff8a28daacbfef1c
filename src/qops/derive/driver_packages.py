"""Which packages make the driver on a host, and what the installed ones are."""

from msgspec import Struct, field

from qops.data import driver_packages as data
from qops.data.drivers import release
from qops.evidence.packages import Packages
from qops.pattern import lazy

_HEADERS = lazy(r"linux-image-(?!unsigned-)([a-z][a-z0-9.\-]*)")
_KERNEL = lazy(r"[0-9][\w.+~]*-[\w.+~]*?-?([a-z][a-z0-9\-]*)$")


class PackageSet(Struct, frozen=True):
    """What is to be installed. `versioned` bear the driver's version, `plain` have versions of their own."""

    manager: str
    source: str  # "vendor" | "archive"
    lead: str  # the package whose version is the driver's
    versioned: tuple[str, ...]
    plain: tuple[str, ...]
    pin: str = ""
    stream: str = ""
    prebuilt: bool = False
    held_besides: tuple[str, ...] = field(default=())  # of a kernel whose modules come built: it may not run ahead

    @property
    def all(self) -> tuple[str, ...]:
        """All names, the pin among them."""
        return (*((self.pin,) if self.pin else ()), *self.versioned, *self.plain)


def driver_version(package_version: str) -> str:
    """Return the driver's version that a package's version holds: "3:580.95.05-1.el9" is 580.95.05. "" for none."""
    version = package_version.partition(":")[2] or package_version
    version = version.partition("-")[0]
    numbers = release(version)
    return version if len(numbers) > 1 and numbers[0] >= data.FIRST_NUMBER else ""


def of_driver(name: str) -> bool:
    """Return whether a package with this name bears the driver's version."""
    return bool(data.FAMILY.match(name)) and not data.NOT_OF_DRIVER.match(name)


def installed(packages: Packages) -> dict[str, str]:
    """Return the packages that make the installed driver, whole or half done, with the driver's version of each."""
    found = {}
    for name, package in packages.packages.items():
        if package.version and of_driver(name) and (version := driver_version(package.version)):
            found[name] = version
    return found


def to_hold(packages: Packages, wanted: PackageSet) -> tuple[str, ...]:
    """Return what is to be held of what is installed: the driver's packages, and what must move with them."""
    besides = {*wanted.held_besides, *(n for n in packages.packages if data.SIGNED_MODULES.match(n))}
    held = {*installed(packages), *besides}
    return tuple(sorted(n for n in held if n in packages.packages and packages.packages[n].version))


def package_set(
    where: data.System,
    *,
    machine: str,
    version: str,
    flavour: str,
    archive: bool,
    fabric: bool,
    nvlink5: bool,
    packages: Packages,
    kernel: str,
) -> PackageSet:
    """Return what is to be installed for `version` (a branch or a full version) in a flavour."""
    branch = version.partition(".")[0]
    names = data.names(where, branch, archive=archive)
    deb = data.DEB_MACHINES.get(machine, machine)
    suffix = kernel_metapackage(packages, kernel, where, deb)

    def full(name: str) -> str:
        return name.format(branch=branch, kernel=suffix, deb=deb, pin=version, stream=_stream(flavour))

    versioned = [*(names.open if flavour == "open" else names.proprietary)]
    plain: list[str] = []
    if fabric:
        old = where.manager == "dnf" and int(branch) < data.FLAT_FROM
        versioned += data.RPM_FABRIC_TO_580 if old else names.fabric
    if nvlink5:
        versioned += data.NVLINK5_OF_DRIVER if machine == "x86_64" else ()
        plain += data.NVLINK5
    held: tuple[str, ...] = ()
    if names.prebuilt:
        held = tuple(n for n in (f"linux-image-{suffix}", f"linux-{suffix}") if packages.version(n))
    elif where.manager == "dnf":
        plain += ["dkms", where.headers]
    else:
        plain += ["dkms", _headers(packages, suffix, where, deb)]
    if where.repository == "ubuntu2604" and not names.prebuilt:
        plain.append("zstd")  # modules are compressed there, and dkms does not ask for the tool
    modules = [n for n in versioned if data.SIGNED_MODULES.match(n)]
    return PackageSet(
        manager=where.manager,
        source="archive" if archive else "vendor",
        lead=full(names.lead),
        versioned=tuple(dict.fromkeys(full(n) for n in versioned if n not in modules)),
        plain=(*(full(n) for n in modules), *dict.fromkeys(plain)),
        pin=full(names.pin) if names.pin else "",
        stream=full(names.stream) if names.stream else "",
        prebuilt=names.prebuilt,
        held_besides=held,
    )


def _stream(flavour: str) -> str:
    return "open" if flavour == "open" else "dkms"


def kernel_metapackage(packages: Packages, kernel: str, where: data.System, deb: str) -> str:
    """Return which kernel metapackage the host follows: "generic-hwe-24.04", "amd64", "cloud-amd64"."""
    known = [m[1] for n in packages.packages if (m := _HEADERS.fullmatch(n)) and packages.version(n)]
    running = _KERNEL.search(kernel)
    flavour = running[1] if running else ""
    # Of several, the one of the running kernel's flavour; the longest of those is the newest series (…-hwe-24.04).
    fitting = [n for n in known if n == flavour or n.startswith(f"{flavour}-")] if flavour else []
    if fitting or known:
        return max(fitting or known, key=len)
    default = where.headers.format(deb=deb)
    return default.removeprefix("linux-headers-") if where.manager == "apt" else ""


def _headers(packages: Packages, suffix: str, where: data.System, deb: str) -> str:
    return f"linux-headers-{suffix}" if suffix else where.headers.format(deb=deb)
