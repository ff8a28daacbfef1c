"""What the SXid codes of NVSwitches mean: by thousands, as the switch's driver groups them.

Source: NVSWITCH_ERR_TYPE in NVIDIA/open-gpu-kernel-modules src/common/nvswitch/interface/ctrl_dev_nvswitch.h, each
block read there; how a host recovers: NVIDIA Fabric Manager user guide, appendix D. The line itself says whether an
error is fatal, and names the error in words. Where the header gives a unit's letters without saying what they stand
for, the letters are kept.
"""

_PARTS = {
    10: "host interface",
    11: "packet into a port",
    12: "packet out of a port",
    13: "flush state of a port",
    14: "transaction state of a port",
    15: "routing",
    16: "port",
    17: "NVLink controller",
    18: "NVLink protocol",
    19: "NVLink transaction layer (NVLTLC)",
    20: "NVLink data link and lanes (DLPL)",
    21: "flow of packets (AFS)",
    22: "NVLink micro-controller (MINION)",
    23: "crossbar",
    24: "source tracking of a port",
    25: "state of a link",
    26: "switch's own controller",
    27: "optical module",
    28: "temperature of an optical module",
    29: "multicast state of a port",
    30: "reduction state of a port",
}


def part(code: int) -> str:
    """Return which part of the switch `code` is about."""
    return _PARTS.get(code // 1000, "NVSwitch")
