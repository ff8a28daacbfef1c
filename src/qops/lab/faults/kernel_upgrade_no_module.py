"""A kernel without an NVIDIA module."""

from qops.lab.fault import Fault

FAULT = Fault(
    cause="kernel-upgrade-no-module",
    about="the host runs a kernel that has no NVIDIA module (simulated)",
    after_boot=True,
)
