"""SRV905: an inference service does not run, or gives no token."""

from collections.abc import Iterator

from qops.evidence.inference import InferenceService, InferenceServices
from qops.evidence.intent import Intent
from qops.rule import Confidence, Fix, Found, Role, RuledOut, rule


@rule(
    "SRV905",
    "service-not-ready",
    role=Role.SYMPTOM,
    fix=(
        Fix(
            "see why in its log, and start it again",
            commands=("qops-serve-ready NAME", "journalctl -u qops-serve-NAME -e"),
            variable="inference_service_instances",
            tag="inference_service",
        ),
    ),
)
def service_not_ready(inference: InferenceServices, intent: Intent | None) -> Iterator[Found | RuledOut]:
    """An inference service does not run, or gives no token."""
    named = intent.settings.get("inference_service") if intent else None
    for one in inference.services.values():
        if named is not None and one.name not in named.split() and not one.up:
            continue  # it was stopped, and the inventory no longer names it
        if (wrong := _wrong(one)) and not one.held:
            seen = f"; what it did is in {one.incident}" if one.incident and one.up else ""
            yield Found(f"service {one.name}", f"{one.name} {wrong}{seen}", (one.quote,), Confidence.CERTAIN)
        elif not wrong:
            yield RuledOut(f"{one.name} gave a token since it was started, and the watch sees no hang", (one.quote,))


def _wrong(one: InferenceService) -> str:
    if one.active == "failed":
        told = " because it was given an option that it does not know" if one.status == 2 else ""
        return f"failed{told} ({one.result}, status {one.status}), and is not started again by itself"
    if not one.up:
        return "does not run" if one.loaded else "has no unit that systemd knows"
    if one.sub == "auto-restart" or (one.restarts > 2 and not one.ready):
        return f"ends again and again ({one.restarts} times so far; last status {one.status})"
    if not one.ready:
        return "runs, and has not given a token yet"
    if one.failures:
        return f"gave no token in the last {one.failures} looks, and its counters stand still"
    return ""
