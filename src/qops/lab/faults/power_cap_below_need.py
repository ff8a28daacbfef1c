"""A power limit far below what the work needs."""

from qops.lab.fault import Fault

FAULT = Fault(
    cause="power-cap-below-need",
    about="every GPU is limited to 200 W (simulated)",
    classes=("rtxpro", "rtx5090", "hgx"),  # a GB10 has no power limit to set
    parameters=(("watts", 200),),
)
