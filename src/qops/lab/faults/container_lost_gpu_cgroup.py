"""A container whose cgroup no longer lets it open the GPUs' devices, as after a reload of systemd."""

from qops.lab.fault import Fault
from qops.lab.gpu_job import GONE, IMAGE, MADE, NAME, REMOVED

# Real: the container, its device file, the cgroup's refusal to open it, the reload and its line in the journal.
# Simulated: the GPUs; and that it is the reload which takes them. A device that cannot be there is not in the cgroup's
# rules, and what a reload does to these depends on the machine's cgroup version. So the container starts with a device
# that it may open (/dev/null under another name), and then gets the real numbers of /dev/nvidiactl, which it may not.
_NODE = "/dev/qops-lab-nvidiactl"
_MOUNTED = "/usr /opt/qops-lab /etc/qops-lab /var/lib/qops-lab"

FAULT = Fault(
    cause="container-lost-gpu-cgroup",
    about=f"the container {NAME} may no longer open the GPUs' devices, after a reload of systemd (GPUs simulated)",
    requires=(("systemctl is-enabled --quiet docker.service", "its scenario has no Docker for it"),),
    plant=(
        "systemctl start docker.service",
        MADE,
        f"[ -c {_NODE} ] || mknod -m 666 {_NODE} c 1 3",
        f'[ "$(docker inspect -f "{{{{.State.Running}}}}" {NAME} 2>/dev/null)" = true ] || {{ {REMOVED}; '
        f"docker run -d --name {NAME} --hostname $(hostname) --network none --ipc host "
        f"--device {_NODE}:/dev/nvidiactl -e QOPS_LAB_CONTAINER=1 -e QOPS_ROOT $(printf ' -v %s' "
        f"$(for path in {_MOUNTED}; do echo $path:$path:ro; done)) {IMAGE} sleep infinity >/dev/null && "
        f"docker exec {NAME} nvidia-smi -L | grep -q '^GPU 0'; }}",
        f"nsenter -m -t $(docker inspect -f '{{{{.State.Pid}}}}' {NAME}) sh -c "
        "'umask 0; rm -f /dev/nvidiactl && mknod /dev/nvidiactl c 195 255'",
        "systemctl daemon-reload",
    ),
    mend=(
        GONE,
        f"rm -f {_NODE}",
    ),
    check=f"docker exec {NAME} nvidia-smi -L | grep -q 'NVML: Unknown Error'",
)
