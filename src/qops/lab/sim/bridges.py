"""Access control (ACS) of the simulated bridges, and `setpci` as far as it reaches that."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

from . import NOTICE, clock, faults, hardware, passthrough, store
from .hardware import Port
from .privilege import is_root

# Bits of the ACS control register, in the order of lspci (PCIe base specification 7.7.11.3).
BITS = ("SrcValid", "TransBlk", "ReqRedir", "CmpltRedir", "UpstreamFwd", "EgressCtrl", "DirectTrans")
_SOURCE, _REDIRECT, _UPSTREAM = 0x01, 0x0C, 0x10
_REGISTER = re.compile(r"ECAP_ACS\+(?:0x)?6\.w(?:=([0-9a-f]{1,4})(?::([0-9a-f]{1,4}))?)?", re.IGNORECASE)


def control(port: Port, planted: faults.Faults) -> int | None:
    """Return the control register of a port; None where it has no access control. A write lasts until a boot."""
    if port.kind == "upstream":
        return None
    word, at = store.state().get("acs", {}).get(str(port.address), (None, 0.0))
    if word is not None and at >= planted.planted:
        return int(word)
    redirect = _REDIRECT if planted.has(faults.ACS_REDIRECT) else 0
    return _SOURCE | redirect | (_UPSTREAM if redirect or port.kind == "root" else 0)


def setpci(arguments: Sequence[str]) -> int:
    """Read or write the control register of one bridge, as `setpci -s SLOT ECAP_ACS+6.w[=VALUE[:MASK]]` does."""
    here = hardware.load()
    if here is None:
        return passthrough.real("setpci", arguments)
    if {"-h", "--help", "--version"} & set(arguments):
        sys.stdout.write(f"{NOTICE}\nsetpci -s SLOT ECAP_ACS+6.w[=VALUE[:MASK]]\n")
        return 0
    words = [word for word in arguments if word not in ("-s", "-v")]
    if len(words) != 2 or not (asked := _REGISTER.fullmatch(words[1])):
        sys.stderr.write(f"setpci: the lab knows ECAP_ACS+6.w only, not {' '.join(arguments)}\n")
        return 1
    slot = words[0] if words[0].count(":") == 2 else "0000:" + words[0]
    port = next((one for one in here.ports if str(one.address) == slot), None)
    word = control(port, faults.load()) if port else None
    if word is None or not is_root():
        wrong = (
            f"No devices selected for {slot}" if port is None else f"{slot}: Instance #0 of Capability ACS not found"
        )
        sys.stderr.write(f"setpci: {wrong}.\n")
        return 1
    if asked[1] is None:
        sys.stdout.write(f"{word:04x}\n")
        return 0
    mask = int(asked[2] or "ffff", 16)
    store.set_state("acs", slot, (word & ~mask | int(asked[1], 16) & mask, clock.now()))
    return 0
