"""SRV060: a model that is to be on the host is not there, or not whole."""

from collections.abc import Iterator

from qops.derive import models
from qops.evidence.model import Models
from qops.rule import Confidence, Fix, Found, RuledOut, rule


@rule(
    "SRV060",
    "weights-incomplete",
    explains=("engine-model-not-found",),
    fix=(
        Fix(
            "fetch what is missing: what came so far is kept, and the rest is asked for",
            commands=("ansible-playbook site.yml --tags model_store --limit HOST",),
            variable="model_store_models",
            tag="model_store",
        ),
    ),
)
def weights_incomplete(stored: Models) -> Iterator[Found | RuledOut]:
    """A model that is to be on the host is not there, or not whole."""
    for model in stored.models:
        if lacks := models.unfinished(model):
            name = model.repo or model.folder
            yield Found(name, f"{name}: {lacks}", (model.quote,), Confidence.CERTAIN)
