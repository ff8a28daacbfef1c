"""SRV006: expandable segments break the engine's own all-reduce."""

from collections.abc import Iterator

from qops.data.messages import engine
from qops.evidence.message import Logs, quotes
from qops.evidence.process import Environment
from qops.rule import Confidence, Fix, Found, RuledOut, rule

_NAMES = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF")


@rule(
    "SRV006",
    "allocator-vs-custom-allreduce",
    explains=("engine-core-failed", "cuda-error", "job-failed", "custom-allreduce-unsupported"),
    fix=(
        Fix("unset PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True for the engine"),
        Fix("switch the engine's own all-reduce off: `--disable-custom-all-reduce`", kind="workaround", risk="slower"),
    ),
)
def allocator_vs_custom_allreduce(logs: Logs, environment: Environment | None) -> Iterator[Found | RuledOut]:
    """Expandable segments break the engine's own all-reduce."""
    own = [v for n in _NAMES for v in (environment.get(n) if environment else ())]
    set_ = [v for v in own if "expandable_segments:true" in v.value.lower().replace(" ", "")]
    failed = logs.find(engine.IPC_INVALID)
    if set_ and failed:
        yield Found(
            subject=set_[0].owner,
            message="memory of expandable segments cannot be shared between processes, as the custom all-reduce needs",
            evidence=(set_[0].quote, *quotes(failed, 3)),
            confidence=Confidence.LIKELY,
        )
