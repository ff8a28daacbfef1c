"""The container that faults of the lab make on a host: a job that wants the GPUs, from an image of the host's own."""

NAME = "gpu-job"
IMAGE = "qops-lab/gpu-job"
# Of nothing but the links to /usr.
MADE = (
    f"docker image inspect {IMAGE} >/dev/null 2>&1 || "
    f"tar -C / -c $(cd / && ls -d bin sbin lib*) | docker import - {IMAGE} >/dev/null"
)
REMOVED = f"docker rm -f {NAME} >/dev/null 2>&1"
GONE = f"{REMOVED}; docker rmi {IMAGE} >/dev/null 2>&1; true"
