"""SRV805: the engine is up, and its server has not said yet that it takes requests."""

from collections.abc import Iterator

from qops.derive.soundness import unexplained
from qops.evidence.engine import EngineLogs
from qops.evidence.message import Logs
from qops.rule import Confidence, Found, Role, RuledOut, Severity, rule


@rule("SRV805", "engine-initialised", role=Role.INFO, severity=Severity.INFO)
def engine_initialised(engines: EngineLogs, logs: Logs | None) -> Iterator[Found | RuledOut]:
    """The engine loaded its model, captured its graphs and warmed up; that it serves was not seen yet."""
    if unexplained(logs):
        return
    for log in engines.logs:
        if log.made and not log.serves:
            yield Found(
                "engine",
                "the model is loaded and warmed up; that requests are answered was not seen yet",
                (log.made,),
                Confidence.LIKELY,
            )
            return
