"""HST025: a container is to get files of a driver that has been replaced."""

from collections.abc import Iterator

from qops.data.messages import system
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Fix, Found, RuledOut, rule


@rule(
    "HST025",
    "container-of-old-driver",
    explains=("no-visible-gpu", "cuda-error", "nvml-failed", "program-failed"),
    fix=(
        Fix(
            "describe the GPUs anew, then make the container again: one that podman made keeps the files that it was "
            "made with",
            commands=("nvidia-ctk cdi list", "sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"),
        ),
    ),
)
def container_of_old_driver(logs: Logs) -> Iterator[Found | RuledOut]:
    """A container is to get files of a driver that has been replaced."""
    absent = logs.find(system.DRIVER_FILE_ABSENT)
    if absent:
        yield Found(
            subject="container",
            message=f"it is to get {absent[0].groups['path']}, a file of a driver that is not installed any more",
            evidence=quotes(absent, 2),
            confidence=Confidence.LIKELY,
        )
