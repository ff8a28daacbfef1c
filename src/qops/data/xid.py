"""What the driver's Xid codes mean, and what the vendor says to do.

Sources: NVIDIA Xid catalogue (docs.nvidia.com/deploy/xid-errors, table of 2025-10); NVIDIA driver source nverror.h,
595.45.04. The vendor's actions are written for data-centre boards.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class XidMeaning:
    """One code. `kind`: program, memory, bus, firmware, link, consequence or other."""

    code: int
    meaning: str
    kind: str
    action: str


_ROWS = (
    (8, "GPU stopped processing", "other", "restart the program; reset the GPU if it repeats"),
    (13, "graphics engine exception, as a rule a bug in the program's kernel", "program", "restart the program"),
    (31, "memory page fault, as a rule a bug in the program's kernel", "program", "restart the program"),
    (32, "invalid or corrupted push buffer", "program", "restart the program"),
    (38, "driver firmware error", "firmware", "reset the GPU"),
    (43, "GPU stopped processing for one program", "consequence", "follow the error before it"),
    (45, "channels torn down after an earlier error", "consequence", "follow the error before it"),
    (48, "double bit ECC error", "memory", "drain the host, then reset the GPU"),
    (61, "internal micro-controller breakpoint", "firmware", "reset the GPU"),
    (62, "internal micro-controller halt", "firmware", "reset the GPU"),
    (63, "row remapped, or remapping recorded", "memory", "reset the GPU when convenient"),
    (64, "row remapping failed", "memory", "reset the GPU; replace it if it repeats"),
    (68, "video processor exception", "program", "restart the program"),
    (69, "graphics engine class error", "program", "restart the program"),
    (74, "NVLink error", "link", "read the link registers; reset the GPU; check the bridge or baseboard"),
    (79, "GPU has fallen off the bus", "bus", "power cycle the host; check power, riser and slot"),
    (92, "high rate of single-bit ECC errors", "memory", "watch it"),
    (94, "contained memory error", "memory", "restart the program"),
    (95, "uncontained memory error", "memory", "reset the GPU"),
    (109, "context switch time-out", "other", "reset the GPU"),
    (119, "GSP firmware does not answer a call", "firmware", "reset the GPU"),
    (120, "GSP firmware error", "firmware", "reset the GPU"),
    (121, "C2C link error", "link", "reset the GPU when convenient"),
    (137, "NVLink privilege error", "program", "restart the program"),
    (140, "unrecovered ECC error", "memory", "reset the GPU"),
    (143, "GPU initialisation failure", "other", "reset the GPU"),
    (144, "NVLink error in SAW", "link", "reset the GPU"),
    (145, "NVLink error in RLW", "link", "reset the GPU"),
    (149, "NVLink network error", "link", "reset the GPU"),
    (154, "recovery action changed", "consequence", "read the action that it names"),
    (158, "fatal time-out", "other", "reset the GPU"),
    (171, "details of a DRAM error that goes with 48", "memory", "as for 48"),
    (172, "details of an SRAM error that goes with 48", "memory", "as for 48"),
)

CATALOGUE: dict[int, XidMeaning] = {code: XidMeaning(code, *rest) for code, *rest in _ROWS}


def meaning(code: int) -> XidMeaning:
    """Return what `code` means; a code that the catalogue lacks is said to be unknown."""
    return CATALOGUE.get(code) or XidMeaning(code, "not in the catalogue", "other", "ask the vendor")
