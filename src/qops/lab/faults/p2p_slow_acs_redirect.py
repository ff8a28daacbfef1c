"""ACS sends peer traffic up through the root port."""

from qops.lab.fault import Fault

FAULT = Fault(
    cause="p2p-slow-acs-redirect",
    about="ACS request redirect is on at the ports above the GPUs (simulated)",
    classes=("rtxpro", "rtx5090", "hgx"),
)
