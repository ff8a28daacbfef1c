"""GPU memory that fails for good."""

from qops.lab.fault import Fault

FAULT = Fault(
    cause="gpu-memory-ecc-hardware",
    about="the memory of GPU 0 has uncorrectable errors and remapped rows (simulated)",
    classes=("rtxpro", "hgx"),  # the others have no ECC that is switched on
    parameters=(("gpu", 0), ("remapped", 2), ("uncorrectable", 1)),
)
