"""ACS sends peer traffic up through the root port."""

from qops.lab.fault import Fault

# Some pair of GPUs is PIX or PXB in the matrix: below one switch only is the way up to the root port a detour.
_NEAR = (
    "nvidia-smi topo -m | awk '/^GPU/ { row[n++] = $0 } END { for (i in row) { split(row[i], cell); "
    'for (c = 2; c <= n + 1; c++) if (cell[c] == "PIX" || cell[c] == "PXB") near = 1 } exit !near }\''
)

FAULT = Fault(
    cause="p2p-slow-acs-redirect",
    about="ACS request redirect is on at the ports above the GPUs (simulated; hosts with PCIe switches)",
    requires=((_NEAR, "no two of its GPUs meet below one PCIe switch, where a redirect would be a detour"),),
    classes=("rtxpro", "rtx5090"),
)
