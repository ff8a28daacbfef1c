"""CUD015: an illegal access under speculative decoding."""

from collections.abc import Iterator

from qops.data.messages import cuda, kernel
from qops.derive.hardware_errors import hardware_errors
from qops.evidence.engine import EngineLogs
from qops.evidence.message import Logs, quotes
from qops.evidence.text import Quote
from qops.rule import Confidence, Fix, Found, RuledOut, rule

FAULTS = ("13", "31")  # Xid: graphics exception, page fault


@rule(
    "CUD015",
    "specdecode-kernel-illegal-access",
    explains=("kernel-bug-illegal-access", "cuda-error", "xid-event", "gpu-needs-reset"),
    fix=(
        Fix("serve without speculative decoding", kind="workaround", risk="lower decode speed"),
        Fix(
            "move to an engine version that has the draft model's kernels mended; fewer draft tokens only make it rarer"
        ),
    ),
)
def specdecode_kernel_illegal_access(logs: Logs, engines: EngineLogs | None) -> Iterator[Found | RuledOut]:
    """An illegal access in a kernel while speculative decoding is on, with no hardware sign."""
    said = logs.find(cuda.ILLEGAL_ACCESS)
    faults = [h for h in logs.find(kernel.XID_PROGRAM) if h.groups["code"] in FAULTS]
    flags = (*quotes(logs.find(cuda.SPECULATIVE), 2), *_arguments(engines))
    if not flags or not (said or faults):
        return
    hardware = hardware_errors(logs)
    if hardware:
        yield RuledOut("the hardware reported an error of its own", quotes(hardware, 2))
        return
    yield Found(
        subject="engine",
        message="a kernel touched memory that is not its own while speculative decoding was on",
        evidence=(*quotes(faults, 2), *quotes(said, 2), *flags[:2]),
        confidence=Confidence.LIKELY if said or len(faults) > 1 else Confidence.POSSIBLE,
    )


def _arguments(engines: EngineLogs | None) -> Iterator[Quote]:
    for log in engines.logs if engines else ():
        if any(name.startswith("speculative") and value not in ("None", "null", "") for name, value in log.arguments):
            yield log.quote
