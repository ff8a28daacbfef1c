"""What roles wrote down that they meant a host to be, so that drift is measured against that."""

from msgspec import Struct, field


class Intent(Struct, frozen=True):
    """The files in /etc/qops/intent.d, one of each role, put together."""

    roles: tuple[str, ...]
    hardware_class: str = ""
    settings: dict[str, str] = field(default_factory=dict)  # "vm.swappiness" to "10"
