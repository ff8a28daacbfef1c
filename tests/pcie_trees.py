"""PCIe trees for tests, as `lspci -vvv` prints them: a switch with two GPUs, and a GPU at a root port of its own."""

from judging import text

from qops.evidence.pcie import PcieTree
from qops.probes import pcie


def bridge(address: str, secondary: str, subordinate: str, control: str = "ReqRedir+ CmpltRedir+ UpstreamFwd+") -> str:
    """Return a bridge with access control; without any where `control` is empty."""
    capability = f"\t\tACSCtl:\tSrcValid+ TransBlk- {control} EgressCtrl- DirectTrans-\n" if control else ""
    return (
        f"{address} PCI bridge: Broadcom / LSI PEX890xx PCIe Gen 5 Switch (prog-if 00 [Normal decode])\n"
        f"\tBus: primary={address[5:7]}, secondary={secondary}, subordinate={subordinate}, sec-latency=0\n{capability}"
    )


def gpu(address: str) -> str:
    """Return a GPU."""
    return f"{address} 3D controller: NVIDIA Corporation GB202GL [RTX PRO 6000 Blackwell Server Edition] (rev a1)\n"


def tree(content: str) -> PcieTree:
    """Return the tree that a listing shows."""
    found = pcie.parse([text(content, "lspci -D -vvv")])
    assert found is not None
    return found


# Two GPUs below one switch, and a third at a root port of its own.
SWITCH = (
    bridge("0000:00:01.1", "04", "07")
    + bridge("0000:04:00.0", "05", "07", "")
    + bridge("0000:05:00.0", "06", "06")
    + bridge("0000:05:04.0", "07", "07", "ReqRedir- CmpltRedir- UpstreamFwd-")
    + gpu("0000:06:00.0")
    + gpu("0000:07:00.0")
)
OWN_ROOT = bridge("0000:40:01.1", "41", "41", "ReqRedir+ CmpltRedir- UpstreamFwd+") + gpu("0000:41:00.0")
