"""How the engines that run on a host are started, as the host itself writes it."""

from msgspec import Struct


class EngineSources(Struct, frozen=True):
    """Texts of a host. They may hold secrets, so they are looked at by `qops adopt` alone and never recorded.

    `inspected` is what docker and podman say of their containers and images, by the engine's name; `units` what
    `systemctl cat` prints of each unit; `files` what the units name, by path; `versions` releases by a unit's name;
    `unread` which of docker and podman did not answer.
    """

    inspected: dict[str, str]
    units: dict[str, str]
    files: dict[str, str]
    versions: dict[str, str]
    unread: tuple[str, ...] = ()
