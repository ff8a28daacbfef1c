"""SRV061: files of a model changed after they were proved, or never were."""

from collections.abc import Iterator

from qops.derive import models
from qops.evidence.model import Models
from qops.rule import Confidence, Fix, Found, RuledOut, rule


@rule(
    "SRV061",
    "weights-corrupt",
    explains=("engine-model-not-found",),
    fix=(
        Fix(
            "read them again and compare them with the manifest; what is wrong is fetched again",
            commands=("ansible-playbook site.yml --tags model_store --limit HOST",),
            variable="model_store_models",
            tag="model_store",
        ),
    ),
)
def weights_corrupt(stored: Models) -> Iterator[Found | RuledOut]:
    """Files of a model changed after they were proved, or never were."""
    for model in stored.models:
        if models.unfinished(model):
            continue  # another cause, and the same run mends it
        doubt = models.unproved(model)
        if doubt:
            yield Found(model.repo, f"{model.repo}: {doubt}", (model.quote,), Confidence.LIKELY)
        else:
            yield RuledOut(f"{model.repo}: {model.files} files, untouched since they were proved", (model.quote,))
