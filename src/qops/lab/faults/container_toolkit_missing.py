"""Docker knows no NVIDIA runtime and no CDI device."""

from qops.lab.fault import Fault
from qops.lab.gpu_job import GONE, IMAGE, MADE, NAME, REMOVED

_FILES = (
    "/usr/bin/nvidia-ctk /usr/bin/nvidia-container-runtime /usr/local/bin/nvidia-ctk "
    "/etc/cdi/nvidia.yaml /etc/docker/daemon.json"
)
_ASIDE = "/var/lib/qops-lab/aside"

FAULT = Fault(
    cause="container-toolkit-missing",
    about="the container toolkit, its CDI specification and Docker's runtime entry are gone",
    plant=(
        f'for file in {_FILES}; do [ ! -e "$file" ] || '
        f'{{ mkdir -p "{_ASIDE}${{file%/*}}" && mv "$file" "{_ASIDE}$file"; }} || exit 1; done',
        "! systemctl is-active --quiet docker.service || systemctl restart docker.service",
        # Who notices: a container that asks for GPUs. Docker refuses it, and keeps the words.
        f"! systemctl is-active --quiet docker.service || {{ {REMOVED}; {MADE}; "
        f"! docker run -d --name {NAME} --gpus all {IMAGE} nvidia-smi -L >/dev/null 2>&1; }}",
    ),
    mend=(
        GONE,
        # What somebody has put there since, such as the role, stays.
        f'for file in {_FILES}; do [ ! -e "{_ASIDE}$file" ] || [ -e "$file" ] || '
        f'{{ mkdir -p "${{file%/*}}" && mv "{_ASIDE}$file" "$file"; }} || exit 1; done',
        f"rm -rf {_ASIDE}",
        "! systemctl is-active --quiet docker.service || systemctl restart docker.service",
    ),
    check="! command -v nvidia-ctk && [ ! -e /etc/cdi/nvidia.yaml ]",
)
