"""The PCIe tree as `lspci -vvv` shows it."""

from msgspec import Struct

from qops.evidence.text import Quote


class PcieDevice(Struct, frozen=True):
    """One function. Speeds in GT/s, widths in lanes; None: not said."""

    address: str  # 0000:01:00.0; "" when a pasted excerpt does not say
    kind: str  # "PCI bridge", "3D controller", …
    name: str
    quote: Quote
    bridge: bool = False
    nvidia: bool = False
    secondary: int | None = None  # bus numbers behind a bridge
    subordinate: int | None = None
    speed: float | None = None
    speed_max: float | None = None
    width: int | None = None
    width_max: int | None = None
    acs: tuple[str, ...] = ()  # active control bits: "SrcValid", "ReqRedir", "CmpltRedir", …
    acs_quote: Quote | None = None
    link_quote: Quote | None = None
    driver: str = ""
    numa: int | None = None
    switch_manager: bool | None = None  # a ConnectX-7 by which NVLink 5 switches are managed; None: no such mark


class PcieTree(Struct, frozen=True):
    """All functions seen."""

    devices: tuple[PcieDevice, ...]

    @property
    def gpus(self) -> tuple[PcieDevice, ...]:
        """The NVIDIA display and 3D controllers."""
        return tuple(d for d in self.devices if d.nvidia and ("3D" in d.kind or "VGA" in d.kind or "Display" in d.kind))

    @property
    def nvswitches(self) -> tuple[PcieDevice, ...]:
        """The NVSwitches up to H200; those of B200 and later are no PCI functions."""
        return tuple(d for d in self.devices if d.nvidia and d.kind == "Bridge")

    def above(self, device: PcieDevice) -> tuple[PcieDevice, ...]:
        """Return the bridges between `device` and its root complex, nearest last."""
        try:
            domain, bus, _ = device.address.split(":")
        except ValueError:
            return ()
        return tuple(
            b
            for b in self.devices
            if b.bridge
            and b.secondary is not None
            and b.subordinate is not None
            and b.address.split(":")[0] == domain
            and b.secondary <= int(bus, 16) <= b.subordinate
        )
