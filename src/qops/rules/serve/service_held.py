"""SRV080: a service is not started by itself, because the machine went down while it started."""

from collections.abc import Iterator

from qops.evidence.inference import InferenceServices
from qops.rule import Confidence, Fix, Found, RuledOut, rule


@rule(
    "SRV080",
    "service-held",
    fix=(
        Fix(
            "find out why in the log of that boot, change what brought the machine down, and start the service again",
            commands=("journalctl -b -1 -e", "qops-serve-start allow NAME"),
            risk="the start may take the machine down again: have its console at hand",
            variable="inference_service_instances",
            tag="inference_service",
        ),
    ),
)
def service_held(inference: InferenceServices) -> Iterator[Found | RuledOut]:
    """A service is not started by itself, because the machine went down while it started."""
    for one in inference.services.values():
        if one.held and not one.up:
            yield Found(f"service {one.name}", f"{one.name} is held: {one.held}", (one.quote,), Confidence.CERTAIN)
