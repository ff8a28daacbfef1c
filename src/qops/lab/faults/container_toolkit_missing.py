"""Docker knows no NVIDIA runtime and no CDI device."""

from qops.lab.fault import Fault

_FILES = (
    "/usr/bin/nvidia-ctk /usr/bin/nvidia-container-runtime /usr/local/bin/nvidia-ctk "
    "/etc/cdi/nvidia.yaml /etc/docker/daemon.json"
)
_ASIDE = "/var/lib/qops-lab/aside"
# Who notices: a container that asks for GPUs. Docker refuses it, and keeps the words.
_NAME, _IMAGE = "gpu-job", "qops-lab/gpu-job"

FAULT = Fault(
    cause="container-toolkit-missing",
    about="the container toolkit, its CDI specification and Docker's runtime entry are gone",
    plant=(
        f'for file in {_FILES}; do [ ! -e "$file" ] || '
        f'{{ mkdir -p "{_ASIDE}${{file%/*}}" && mv "$file" "{_ASIDE}$file"; }} || exit 1; done',
        "! systemctl is-active --quiet docker.service || systemctl restart docker.service",
        f"! systemctl is-active --quiet docker.service || {{ docker rm -f {_NAME} >/dev/null 2>&1; "
        f"docker image inspect {_IMAGE} >/dev/null 2>&1 || "
        f"tar -C / -c $(cd / && ls -d bin sbin lib*) | docker import - {_IMAGE} >/dev/null; "
        f"! docker run -d --name {_NAME} --gpus all {_IMAGE} nvidia-smi -L >/dev/null 2>&1; }}",
    ),
    mend=(
        f"docker rm -f {_NAME} >/dev/null 2>&1; docker rmi {_IMAGE} >/dev/null 2>&1; true",
        # What somebody has put there since, such as the role, stays.
        f'for file in {_FILES}; do [ ! -e "{_ASIDE}$file" ] || [ -e "$file" ] || '
        f'{{ mkdir -p "${{file%/*}}" && mv "{_ASIDE}$file" "$file"; }} || exit 1; done',
        f"rm -rf {_ASIDE}",
        "! systemctl is-active --quiet docker.service || systemctl restart docker.service",
    ),
    check="! command -v nvidia-ctk && [ ! -e /etc/cdi/nvidia.yaml ]",
)
