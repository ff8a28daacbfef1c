"""SRV050: the engine refuses a flag."""

from collections.abc import Iterator

from qops.data.messages import engine
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Fix, Found, RuledOut, rule


@rule(
    "SRV050",
    "engine-bad-flag",
    explains=("job-failed", "engine-core-failed"),
    fix=(Fix("write the flag as this version of the engine knows it", commands=("vllm serve --help=all",)),),
)
def engine_bad_flag(logs: Logs) -> Iterator[Found | RuledOut]:
    """The engine refuses a flag."""
    hits = logs.find(engine.BAD_FLAG)
    if hits:
        yield Found("engine", hits[0].groups["what"][:200], quotes(hits, 2), Confidence.CERTAIN)
