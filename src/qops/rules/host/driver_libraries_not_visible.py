"""HST052: the container toolkit cannot see the host's driver libraries."""

from collections.abc import Iterator

from qops.data.messages import system
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Fix, Found, rule


@rule(
    "HST052",
    "driver-libraries-not-visible",
    explains=("nvml-failed", "no-visible-gpu", "cuda-error"),
    fix=(
        Fix(
            "install the driver's libraries on the host and refresh the loader's cache; do not use docker from snap",
            commands=("ldconfig -p | grep -E 'libnvidia-ml|libcuda'", "command -v docker"),
        ),
    ),
)
def driver_libraries_not_visible(logs: Logs) -> Iterator[Found]:
    """The container toolkit cannot see the host's driver libraries."""
    hits = logs.find(system.LIBRARY_LOAD_FAILED)
    if hits:
        yield Found(
            subject="host",
            message=f"the container toolkit finds no {hits[0].groups['library']} on the host",
            evidence=quotes(hits, 2),
            confidence=Confidence.CERTAIN,
        )
