"""Shared memory of 64 MiB, Docker's default, where NCCL's segments need more."""

from qops.lab.fault import Fault

FAULT = Fault(
    cause="shm-too-small",
    about="shared memory (/dev/shm) has 64 MiB, and stays so over a reboot",
    plant=(
        "sed -i '\\,^tmpfs /dev/shm ,d' /etc/fstab 2>/dev/null || touch /etc/fstab",
        "echo 'tmpfs /dev/shm tmpfs rw,nosuid,nodev,size=64m 0 0' >>/etc/fstab",
        "mount -o remount,size=64m /dev/shm",
    ),
    mend=(
        "sed -i '\\,^tmpfs /dev/shm ,d' /etc/fstab",
        "mount -o remount,size=8g /dev/shm",
    ),
    check='[ "$(df -B1 --output=size /dev/shm | tail -n 1)" -le 67108864 ]',
)
