"""NVSwitches without their fabric manager."""

from qops.lab.fault import Fault

_UNIT = "nvidia-fabricmanager.service"
_NONE = f"! systemctl cat {_UNIT} >/dev/null 2>&1"  # the stand-in package is not installed: the simulator answers alone

FAULT = Fault(
    cause="fabric-manager-not-running",
    about="the fabric manager is stopped and does not start at boot",
    plant=(f"{_NONE} || systemctl disable --now {_UNIT}",),
    mend=(f"{_NONE} || systemctl enable --now {_UNIT}",),
    classes=("hgx",),
)
