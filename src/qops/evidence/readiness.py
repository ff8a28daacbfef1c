"""What a host has and reaches before anything is done with it: disks, a clock, addresses, a boot that is due."""

from msgspec import Struct

from qops.evidence.text import Quote


class Filesystem(Struct, frozen=True):
    """A mounted filesystem. Sizes in bytes."""

    mount: str
    kind: str  # "ext4", "overlay", "nfs4"
    size: int
    available: int
    quote: Quote


class Disks(Struct, frozen=True):
    """All filesystems of the host's own that hold files, and where those of the network are mounted."""

    filesystems: tuple[Filesystem, ...]
    network: tuple[str, ...] = ()

    def of(self, path: str) -> Filesystem | None:
        """Return the filesystem in which `path` lies, or would lie; None when that is not known, or far away."""
        inside = [f for f in self.filesystems if _lies_in(path, f.mount)]
        own = max(inside, key=lambda f: len(f.mount), default=None)
        far = [m for m in self.network if _lies_in(path, m)]
        return None if own and any(len(m) > len(own.mount) for m in far) else own


def _lies_in(path: str, mount: str) -> bool:
    return mount == "/" or path == mount or path.startswith(f"{mount}/")


class Clock(Struct, frozen=True):
    """The host's clock. `ahead` is in seconds against whoever asked; None: nobody compared."""

    quote: Quote
    ahead: int | None = None
    synchronized: bool | None = None  # None: nothing on the host says


class Contact(Struct, frozen=True):
    """Whether one address of one family was reached. `reason` is empty when it was."""

    host: str
    port: int
    family: str  # "IPv4" | "IPv6"
    reason: str  # "no address", "timed out", "refused", "the certificate is not trusted: …"
    quote: Quote


class Contacts(Struct, frozen=True):
    """All addresses that were tried. `proxy` names the proxy that the host is configured for, without its password."""

    contacts: tuple[Contact, ...]
    proxy: str = ""


class Standing(Struct, frozen=True):
    """What speaks for a reboot, and what against it now."""

    quote: Quote
    running: str = ""  # the kernel
    kernels: tuple[str, ...] = ()  # installed, with the file that is booted, the newest first
    required: tuple[str, ...] | None = None  # packages that ask for a reboot; () for no reason given; None: none asks
    serving: tuple[str, ...] = ()  # units of engines that are active
    booted: int = 0  # seconds since the epoch
    boot_id: str = ""
