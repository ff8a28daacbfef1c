"""The simulated `ibstat`, `show_gids`, `ibdev2netdev` and `ethtool` of ConnectX-7 devices."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial

from . import NOTICE, hardware, passthrough, sysfs
from .hardware import Nic

_GIDS_HEAD = (
    "DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4  \t\tVER\tDEV\n---\t----\t-----\t---\t\t\t\t\t------------  \t---\t---\n"
)


def _guid(nic: Nic) -> str:
    return "0x" + sysfs.mac(nic).replace(":", "")[:6] + "0300" + sysfs.mac(nic).replace(":", "")[6:]


def _ibstat(nic: Nic) -> str:
    guid = _guid(nic)
    rows = [
        f"CA '{nic.rdma}'",
        "\tCA type: MT4129",
        "\tNumber of ports: 1",
        "\tFirmware version: 28.45.4028",
        "\tHardware version: 0",
        f"\tNode GUID: {guid}",
        f"\tSystem image GUID: {guid}",
        "\tPort 1:",
        f"\t\tState: {'Active' if nic.up else 'Down'}",
        f"\t\tPhysical state: {'LinkUp' if nic.up else 'Disabled'}",
        f"\t\tRate: {nic.rate if nic.up else 40}",
        "\t\tBase lid: 0",
        "\t\tLMC: 0",
        "\t\tSM lid: 0",
        "\t\tCapability mask: 0x00010000",
        f"\t\tPort GUID: {guid}",
        f"\t\tLink layer: {'InfiniBand' if nic.infiniband else 'Ethernet'}",
    ]
    return "\n".join(rows) + "\n"


def _gids(nics: Sequence[Nic]) -> str:
    text, count = _GIDS_HEAD, 0
    for nic in nics:
        for index, (gid, kind) in enumerate(sysfs.gids(nic)):
            ip = nic.ip if index > 1 else ""
            version = "v2" if kind.endswith("v2") else "v1"
            text += f"{nic.rdma}\t1\t{index}\t{gid}\t{ip:<12}  \t{version}\t{nic.netdev}\n"
            count += 1
    return text + f"n_gids_found={count}\n"


def _ethtool(nic: Nic, options: Sequence[str]) -> str:
    if "-i" in options:
        return (
            f"driver: mlx5_core\nversion: 6.14.0\nfirmware-version: 28.45.4028 (MT_0000000970)\n"
            f"expansion-rom-version: \nbus-info: {nic.slot.address}\nsupports-statistics: yes\n"
        )
    if "-S" in options:
        return "NIC statistics:\n     rx_discards_phy: 0\n     tx_pause_ctrl_phy: 0\n     rx_pause_ctrl_phy: 0\n"
    speed = f"{nic.rate * 1000}Mb/s" if nic.up else "Unknown!"
    duplex = "Full" if nic.up else "Unknown! (255)"
    return (
        f"Settings for {nic.netdev}:\n\tSupported ports: [ FIBRE\t Backplane ]\n\tSpeed: {speed}\n"
        f"\tDuplex: {duplex}\n\tAuto-negotiation: on\n\tPort: FIBRE\n\tPHYAD: 0\n\tTransceiver: internal\n"
        f"\tLink detected: {'yes' if nic.up else 'no'}\n"
    )


def _none(tool: str) -> int:
    if tool == "ibstat":
        sys.stderr.write("ibpanic: [1] main: stat of IB device failed: No such file or directory\n")
        return 255
    return 0


def main(tool: str, arguments: Sequence[str]) -> int:
    """Answer as one of the tools would."""
    here = hardware.load()
    nics = here.nics if here else ()
    words = [word for word in arguments if not word.startswith("-")]
    if here is None or (tool == "ethtool" and not any(nic.netdev in words for nic in nics) and "-h" not in arguments):
        return passthrough.real(tool, arguments)
    if "--version" in arguments or "-h" in arguments:
        sys.stdout.write(f"{NOTICE}\n{tool}\n")
        return 0
    named = [nic for nic in nics if not words or nic.rdma in words or nic.netdev in words]
    if not nics:
        return _none(tool)
    if tool == "ibstat" and "-l" in arguments:
        text = "".join(nic.rdma + "\n" for nic in nics)
    elif tool == "ibstat":
        text = "".join(_ibstat(nic) for nic in named)
    elif tool == "show_gids":
        text = _gids(named)
    elif tool == "ibdev2netdev":
        text = "".join(f"{nic.rdma} port 1 ==> {nic.netdev} ({'Up' if nic.up else 'Down'})\n" for nic in named)
    else:
        text = "".join(_ethtool(nic, arguments) for nic in named)
    sys.stdout.write(text)
    return 0


ibstat, show_gids = partial(main, "ibstat"), partial(main, "show_gids")
ibdev2netdev, ethtool = partial(main, "ibdev2netdev"), partial(main, "ethtool")
