"""The boards that qops knows, and the hardware class that each makes of its host.

Names as nvidia-smi prints them; PCI device ids of vendor 10de with the names of pci.ids (pci-ids.ucw.cz), for a host
without a driver or with a pci.ids that is older than its board. H100 and H200 as PCIe or NVL cards have no NVSwitch
and are not `hgx`.
"""

import re

from msgspec import Struct


class BoardKind(Struct, frozen=True):
    """One kind of board: the class that it makes, how it is named, and its PCI device ids."""

    hardware_class: str
    title: str
    name: re.Pattern[str]
    device_ids: tuple[str, ...]


KINDS = (
    BoardKind("spark", "GB10", re.compile(r"\bGB10\b"), ("2e12",)),
    BoardKind(
        "rtxpro",
        "RTX PRO 6000 Blackwell",
        re.compile(r"\bRTX PRO 6000 Blackwell\b"),
        ("2bb1", "2bb4", "2bb5"),  # Workstation, Max-Q, Server Edition
    ),
    # Not the 5090 D, nor the notebook board: other chips under nearly the same name.
    BoardKind("rtx5090", "GeForce RTX 5090", re.compile(r"\bGeForce RTX 5090(?! (?:D|Laptop|Max-Q))\b"), ("2b85",)),
    BoardKind(
        "hgx",
        "H100, H200 or B200 with NVSwitch",
        re.compile(r"\bH100 80GB HBM3\b|\bH100 SXM\d?\b|\bH200(?= SXM|\]|$| \()|\bB200\b"),
        ("2330", "2335", "2901"),  # H100 SXM5 80GB, H200 SXM 141GB, B200
    ),
)
_ID = re.compile(r"\bDevice ([0-9a-f]{4})\b|\[10de:([0-9a-f]{4})\]")


def kind(name: str) -> BoardKind | None:
    """Return the kind of board that nvidia-smi or lspci names; None: not one that qops knows."""
    for known in KINDS:
        if known.name.search(name):
            return known
    found = _ID.search(name)
    device = (found[1] or found[2]) if found else ""
    return next((known for known in KINDS if device in known.device_ids), None)
