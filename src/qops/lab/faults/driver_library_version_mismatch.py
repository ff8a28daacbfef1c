"""The driver's libraries were upgraded and the loaded kernel module was not."""

from qops.lab.fault import Fault

FAULT = Fault(
    cause="driver-library-version-mismatch",
    about="the NVIDIA libraries are newer than the loaded kernel module (simulated)",
)
