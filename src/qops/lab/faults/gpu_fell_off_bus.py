"""A GPU that the driver can no longer reach (Xid 79)."""

from qops.lab.fault import Fault

FAULT = Fault(
    cause="gpu-fell-off-bus",
    about="the last GPU has fallen off the bus (simulated)",
)
