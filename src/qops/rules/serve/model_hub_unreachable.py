"""SRV017: the host of the model cannot be reached from here."""

from collections.abc import Iterator

from qops.data.messages import engine, model
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Fix, Found, RuledOut, rule


@rule(
    "SRV017",
    "model-hub-unreachable",
    explains=("engine-core-failed", "job-failed", "program-failed", "engine-model-not-found"),
    fix=(
        Fix(
            "let the host reach the hub (name server, route, proxy), or give the engine a folder with the model and "
            "HF_HUB_OFFLINE=1",
            commands=("getent hosts huggingface.co", "env | grep -iE '^(https?|no)_proxy=|^HF_'"),
            variable="model_store_models",
            tag="model_store",
        ),
    ),
)
def model_hub_unreachable(logs: Logs) -> Iterator[Found | RuledOut]:
    """The hub that the model is to come from cannot be reached from here."""
    hits = logs.find(model.HUB_UNREACHABLE)
    if not hits:
        return
    went_on = logs.find(engine.READY, engine.STARTED_FURTHER)
    if went_on:
        yield RuledOut("the engine loaded the model all the same", quotes(went_on, 1))
        return
    refused = logs.find(model.GATED)
    if refused:
        yield RuledOut("the hub answered, and refused", quotes(refused, 1))
        return
    offline = any("offline" in h.groups for h in hits)
    why = "may not be asked (HF_HUB_OFFLINE)" if offline else "could not be reached"
    text = f"the hub that the model is to come from {why}, and it is not in the cache"
    yield Found("engine", text, quotes(hits, 3), Confidence.LIKELY)
