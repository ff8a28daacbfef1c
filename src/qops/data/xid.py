"""What the driver's Xid codes mean, and what the vendor says to do.

Sources: NVIDIA Xid catalogue (docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html, as of 2025-10): every code
that it does not call unused; the driver's nverror.h, 595.45.04, for codes that only older boards print. The catalogue
is of A100, H100, B100 and GB200: for other boards its actions are a guess.
"""

from msgspec import Struct


class XidMeaning(Struct, frozen=True):
    """One code. `kind`: program, memory, bus, firmware, link, consequence, notice or other."""

    code: int
    meaning: str
    kind: str
    action: str


_RESTART = "restart the program"
_RESET = "reset the GPU"
_OTHER_ENGINES = {  # units that an inference server rarely uses
    "copy engine": (39, 40, 41, 70, 71, 72, 75, 76, 77, 85, *range(126, 136)),
    "video decoder": (68, 83, 84, 88, 89, 96, 97, 98),
    "JPEG decoder": (82, *range(99, 106)),
    "optical flow unit": (86, 139),
}

_ROWS = (
    (8, "GPU stopped processing", "other", "restart the program; reset the GPU if it repeats"),
    (11, "invalid or corrupted push buffer", "program", _RESTART),
    (13, "graphics engine exception, as a rule a bug in the program's kernel", "program", _RESTART),
    (14, "error that somebody injected", "notice", "none"),
    (25, "invalid push buffer", "program", _RESTART),
    (31, "memory page fault, as a rule a bug in the program's kernel", "program", _RESTART),
    (32, "invalid or corrupted push buffer, often bad signals on the PCIe link", "bus", _RESTART),
    (37, "driver firmware error", "firmware", "ignore it once"),
    (38, "driver firmware error", "firmware", _RESET),
    (43, "GPU stopped processing for one program", "consequence", "follow the error before it"),
    (44, "fault during a context switch", "other", "ask the vendor if it repeats"),
    (45, "channels torn down after an earlier error", "consequence", "follow the error before it"),
    (46, "GPU stopped processing", "other", _RESET),
    (48, "double bit ECC error", "memory", "drain the host, then reset the GPU"),
    (54, "auxiliary power is not connected to the board", "bus", "check the power cables"),
    (60, "video processor exception", "program", _RESTART),
    (61, "internal micro-controller breakpoint", "firmware", _RESET),
    (62, "internal micro-controller halt", "firmware", _RESET),
    (63, "row remapped, or remapping recorded", "memory", "reset the GPU when convenient"),
    (64, "row remapping failed", "memory", "reset the GPU; replace it if it repeats"),
    (66, "illegal access by the driver", "other", "ask the vendor if it repeats"),
    (67, "illegal access by the driver", "other", "ask the vendor if it repeats"),
    (69, "graphics engine class error", "program", _RESTART),
    (74, "NVLink error", "link", "read the link registers; reset the GPU; check the bridge or baseboard"),
    (78, "virtual GPU did not start", "other", "make the versions of host and guest driver fit"),
    (79, "GPU has fallen off the bus", "bus", "power cycle the host; check power, riser and slot"),
    (80, "corrupted data sent to the GPU", "bus", _RESTART),
    (92, "high rate of single-bit ECC errors", "memory", "watch it"),
    (93, "InfoROM was written too often", "notice", "ask the vendor"),
    (94, "contained memory error", "memory", _RESTART),
    (95, "uncontained memory error", "memory", _RESET),
    (106, "test message", "notice", "none"),
    (107, "test message", "notice", "none"),
    (108, "NVLink translation error at the other end", "program", "follow the error at the other end"),
    (109, "context switch time-out", "other", _RESET),
    (110, "security fault", "other", "undo changes of hardware, then power cycle the host"),
    (119, "GSP firmware does not answer a call", "firmware", _RESET),
    (120, "GSP firmware error", "firmware", _RESET),
    (121, "corrected C2C link errors", "link", "reset the GPU when convenient"),
    (136, "link training failed", "link", _RESET),
    (137, "NVLink privilege error, as a rule a bug in the program's kernel", "program", _RESTART),
    (140, "unrecovered ECC error", "memory", _RESET),
    (141, "CUDA fast path error", "other", "ask the vendor if it repeats"),
    (142, "video encoder error", "program", _RESTART),
    (143, "GPU initialisation failure", "other", _RESET),
    (144, "NVLink error in SAW", "link", _RESET),
    (145, "NVLink error in RLW", "link", _RESET),
    (146, "NVLink error in TLW", "link", _RESET),
    (147, "NVLink error in TREX", "link", _RESET),
    (148, "NVLink error in NVLPW_CTRL", "link", _RESET),
    (149, "NVLink error in NETIR", "link", _RESET),
    (150, "NVLink error in MSE", "link", _RESET),
    (151, "key rotation error", "other", "restart the virtual machine"),
    (152, "DLA address translation error", "other", "ask the vendor if it repeats"),
    (153, "DLA time-out", "other", "ask the vendor if it repeats"),
    (154, "recovery action changed", "consequence", "read the action that it names"),
    (155, "NVLink link went down as software asked", "link", _RESET),
    (156, "a part of the GPU was retired", "memory", "reset the GPU when convenient"),
    (157, "retiring a part of the GPU failed: none is left", "memory", "replace the GPU when it repeats"),
    (158, "fatal time-out", "other", _RESET),
    (159, "error on the C2C link", "link", "follow the error that comes with it"),
    (160, "a memory channel was retired", "memory", "none"),
    (161, "retiring a memory channel failed", "memory", "ask the vendor if it repeats"),
    (162, "power smoothing is in force again", "notice", "none"),
    (163, "power smoothing is off", "notice", "reload the driver where power smoothing is wanted"),
    (164, "power smoothing circuit nears its end", "notice", "plan to replace the GPU where power smoothing is wanted"),
    (165, "power smoothing circuit is used up", "notice", "replace the GPU where power swings matter"),
    (166, "NVLink traffic before its encryption was set up", "link", "ask the vendor"),
    (167, "fatal PCIe time-out", "bus", "power cycle the host; check riser and slot"),
    (168, "errors in the memory that the firmware keeps for itself", "memory", "switch ECC on, then restart the host"),
    (169, "internal micro-controller halt", "firmware", _RESET),
    (170, "interrupt in confidential mode", "link", "ask the vendor"),
    (171, "details of a DRAM error that goes with 48", "memory", "as for 48"),
    (172, "details of an SRAM error that goes with 48", "memory", "as for 48"),
    *((code, f"{engine} error", "program", _RESTART) for engine, codes in _OTHER_ENGINES.items() for code in codes),
)

CATALOGUE: dict[int, XidMeaning] = {code: XidMeaning(code, *rest) for code, *rest in _ROWS}
# Names of the boards that the catalogue is about, and of their kin with the same chip.
_IN_CATALOGUE = {"A100", "A800", "H100", "H800", "H200", "H20", "GH200", "B100", "B200", "B300", "GB200", "GB300"}


def meaning(code: int) -> XidMeaning:
    """Return what `code` means; a code that the catalogue lacks is said to be unknown."""
    return CATALOGUE.get(code) or XidMeaning(code, "not in the catalogue", "other", "ask the vendor")


def covers(name: str) -> bool:
    """Return whether the vendor's catalogue is about the board `name`: it leaves out GeForce, RTX PRO and GB10."""
    return not _IN_CATALOGUE.isdisjoint(name.replace("-", " ").split())
