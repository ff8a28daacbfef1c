"""The boards: what nvidia-smi says of a model of GPU, whichever host it is in."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Board:
    """One model. Power in watts, clocks in MHz, memory in MiB, temperatures in degrees Celsius.

    `None` is a figure that the driver does not give for this model.
    """

    name: str
    architecture: str
    device_id: str  # device and vendor, as nvidia-smi joins them
    subsystem_id: str
    compute_cap: str
    pci_name: str  # what a current pci.ids makes of it
    pci_class: str = "0x030200"
    brand: str = "NVIDIA"
    vbios: str = "N/A"
    board_part: str = "N/A"
    gpu_part: str = "N/A"
    inforom: tuple[str, str, str] = ("N/A", "N/A", "N/A")  # image, OEM object, ECC object
    memory: int | None = None
    reserved: int = 0
    bar1: tuple[int, int] = (0, 0)  # total, used at rest
    power: tuple[float, float, float] | None = None  # min, default, max
    idle_power: float = 20.0
    full_power: float = 0.0  # draw at full load where there is no limit to say it
    memory_power: bool = False
    sm: tuple[int, int] = (210, 2000)  # at rest, max
    clock_step: int = 15
    memory_clock: tuple[int, int] | None = None  # at rest, max
    memory_clocks: tuple[int, ...] = ()  # the supported ones, highest first
    video: tuple[int, int] = (600, 2000)
    app_clocks: tuple[int, int] | None = None  # graphics, memory; None: deprecated on this model
    link: tuple[int, int, int] = (5, 16, 5)  # generation, width, generation at rest
    host_gen: str = "N/A"
    ecc: str = "N/A"
    mig: str = "N/A"
    idle_pstate: str = "P8"
    busy_pstate: str = "P0"
    says_idle: bool = False  # the Idle clocks event reason at rest
    fan: int | None = None
    temp: int = 38  # GPU 0 at rest
    tlimit: int = 87  # temperature at which T.Limit is 0
    tlimits: tuple[str, str, str] = ("-5 C", "-2 C", "0 C")  # shutdown, slowdown, max operating
    memory_temp: bool = False
    rows: int | None = None  # banks in the remapping histogram
    dram_encryption: str = "N/A"
    display_attached: str = "No"
    sparse: str = "N/A"
    atomics: str = "N/A"
    addressing: str = "None"
    platform: tuple[str, str, str, str, str, str] = ("N/A",) * 6
    fabric: bool = False
    nvlink_speed: str = "26.562"  # GB/s of one link
    unified: bool = False  # memory is the host's: nvidia-smi does not count it


_ATOMICS = "FETCHADD_32 FETCHADD_64 SWAP_32 SWAP_64 CAS_32 CAS_64"

# The project's own recording (580.159.04).
H200 = Board(
    name="NVIDIA H200",
    architecture="Hopper",
    device_id="0x233510DE",
    subsystem_id="0x18BF10DE",
    compute_cap="9.0",
    pci_name="GH100 [H200 SXM 141GB]",
    vbios="96.00.A5.00.1A",
    board_part="692-2G520-0282-000",
    gpu_part="2335-895-A1",
    inforom=("G520.0282.02.02", "2.1", "7.16"),
    memory=143771,
    reserved=616,
    bar1=(262144, 1),
    power=(200.0, 700.0, 700.0),
    idle_power=79.5,
    memory_power=True,
    sm=(345, 1980),
    memory_clock=(3201, 3201),
    memory_clocks=(3201, 2201),
    video=(765, 1545),
    app_clocks=(1980, 3201),
    ecc="Enabled",
    mig="Disabled",
    idle_pstate="P0",
    says_idle=True,
    tlimits=("-8 C", "-2 C", "0 C"),
    memory_temp=True,
    rows=3072,
    display_attached="Yes",
    sparse="Disabled",
    fabric=True,
)

# Figures of a public nvidia-smi -q of an eight-card host (595.58.03); power range from the same.
PRO6000_SERVER = Board(
    name="NVIDIA RTX PRO 6000 Blackwell Server Edition",
    architecture="Blackwell",
    device_id="0x2BB510DE",
    subsystem_id="0x204E10DE",
    compute_cap="12.0",
    pci_name="GB202GL [RTX PRO 6000 Blackwell Server Edition]",
    vbios="98.02.67.00.0A",
    board_part="900-2G153-0000-000",
    gpu_part="2BB5-895-A1",
    inforom=("G153.0210.00.02", "2.1", "7.16"),
    memory=97887,
    reserved=636,
    bar1=(131072, 0),
    power=(300.0, 600.0, 600.0),
    idle_power=39.2,
    sm=(180, 2430),
    memory_clock=(405, 12481),
    memory_clocks=(12481, 405),
    video=(600, 2107),
    link=(5, 16, 1),
    host_gen="5",
    ecc="Enabled",
    mig="Disabled",
    busy_pstate="P1",
    temp=26,
    tlimit=85,
    rows=512,
    dram_encryption="Disabled",
    display_attached="Yes",
    atomics=_ATOMICS,
    platform=("", "0", "0", "1", "Direct Connected", "0x0000000000000000"),
)

# Power range 150 to 600 W and clocks as owners report them; the rest as the Server Edition.
PRO6000_WORKSTATION = replace(
    PRO6000_SERVER,
    name="NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
    device_id="0x2BB110DE",
    subsystem_id="0x204B10DE",
    pci_name="GB202GL [RTX PRO 6000 Blackwell Workstation Edition]",
    pci_class="0x030000",
    gpu_part="2BB1-875-A1",
    board_part="900-5G144-2200-000",
    power=(150.0, 600.0, 600.0),
    idle_power=18.0,
    sm=(180, 3090),
    memory_clock=(405, 14001),
    memory_clocks=(14001, 405),
    fan=30,
    temp=33,
    mig="N/A",
    inforom=("G144.0500.00.02", "2.1", "7.16"),
)

# 575 W default as published by the vendor, 600 W as the most that boards take.
RTX5090 = Board(
    name="NVIDIA GeForce RTX 5090",
    architecture="Blackwell",
    device_id="0x2B8510DE",
    subsystem_id="0x205710DE",
    compute_cap="12.0",
    pci_name="GB202 [GeForce RTX 5090]",
    pci_class="0x030000",
    brand="GeForce",
    vbios="98.02.2E.40.61",
    gpu_part="2B85-400-A1",
    inforom=("G145.0500.00.01", "2.1", "N/A"),
    memory=32607,
    reserved=492,
    bar1=(32768, 2),
    power=(400.0, 575.0, 600.0),
    idle_power=14.6,
    sm=(180, 3090),
    memory_clock=(405, 14001),
    memory_clocks=(14001, 13801, 810, 405),
    video=(600, 2452),
    link=(5, 16, 1),
    host_gen="5",
    busy_pstate="P1",
    says_idle=True,
    fan=0,
    temp=31,
    tlimit=90,
    atomics=_ATOMICS,
    addressing="HMM",
    platform=("", "0", "0", "1", "Direct Connected", "0x0000000000000000"),
)

# A public table of a DGX Spark (580.95.05); top SM clock 3003 and application clock 2418 as owners
# report them. Memory, power limits and memory clock are not given by the driver on unified memory.
# ATS: the processor's page tables are the GPU's.
GB10 = Board(
    name="NVIDIA GB10",
    architecture="Blackwell",
    device_id="0x2E1210DE",
    subsystem_id="0x000010DE",
    compute_cap="12.1",
    pci_name="GB20B [GB10]",
    pci_class="0x030000",
    vbios="9A.0B.25.00.00",
    idle_power=4.3,
    full_power=85.0,
    sm=(208, 3003),
    clock_step=13,
    video=(598, 3003),
    app_clocks=(2418, 0),
    link=(1, 1, 1),
    host_gen="5",
    says_idle=True,
    temp=40,
    tlimit=92,
    addressing="ATS",
    unified=True,
    platform=("", "0", "0", "1", "Direct Connected", "0x0000000000000000"),
)

BOARDS = {
    "h200": H200,
    "rtxpro6000-server": PRO6000_SERVER,
    "rtxpro6000-workstation": PRO6000_WORKSTATION,
    "rtx5090": RTX5090,
    "gb10": GB10,
}
