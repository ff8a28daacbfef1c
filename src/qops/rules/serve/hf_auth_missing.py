"""SRV010: there is no token, or no access, for a gated model."""

import re
from collections.abc import Iterator

from qops.data.messages import model
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Fix, Found, RuledOut, rule

_MODEL = re.compile(r"(?:[Rr]epo model |[Aa]ccess to model |/api/models/|huggingface\.co/)([\w.-]+/[\w.<>-]+)")


@rule(
    "SRV010",
    "hf-auth-missing",
    explains=("engine-core-failed", "job-failed", "engine-model-not-found"),
    fix=(
        Fix(
            "give the engine a token that may read the model, as HF_TOKEN in its environment file (never on a command "
            "line), and accept the model's terms with that account"
        ),
        Fix("serve from a local folder that holds the weights", kind="workaround"),
    ),
)
def hf_auth_missing(logs: Logs) -> Iterator[Found | RuledOut]:
    """There is no token, or no access, for a gated model."""
    hits = logs.find(model.GATED)
    if not hits:
        return
    if all("unknown" in h.groups for h in hits):
        # To who brings no token the hub answers 401 for a repository that it does not have, too; else 404.
        text = "the hub got no token that it knows, and shows no such repository without one"
        yield Found("engine", text, quotes(hits), Confidence.LIKELY)
        return
    name = next((m.group(1) for h in hits if (m := _MODEL.search(h.quote.text))), "")
    text = f"the hub refuses {name}" if name else "the hub refuses the model"
    yield Found("engine", f"{text}: no token, or no access with it", quotes(hits), Confidence.CERTAIN)
