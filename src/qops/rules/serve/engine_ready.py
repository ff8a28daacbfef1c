"""SRV801: the engine said that it serves, or its log shows that it does."""

from collections.abc import Iterator

from qops.data.messages import engine
from qops.derive.soundness import unexplained
from qops.evidence.engine import EngineLogs
from qops.evidence.message import Logs
from qops.rule import Confidence, Found, Role, RuledOut, Severity, rule


@rule("SRV801", "engine-ready", role=Role.INFO, severity=Severity.INFO)
def engine_ready(engines: EngineLogs, logs: Logs | None) -> Iterator[Found | RuledOut]:
    """The engine said that it serves, or its log shows tokens and answers."""
    for log in engines.logs:
        if log.ready:
            yield Found(
                "engine",
                f"{log.engine} {log.version} said that it serves".replace("  ", " "),
                (log.quote,),
                Confidence.CERTAIN,
            )
            return
    served = next((log.served for log in engines.logs if log.served), None)
    if logs and logs.find(engine.PREEMPTED):
        return  # whether tokens came after that, SRV806 tells
    if served and not unexplained(logs):
        yield Found("engine", "its log shows tokens, or answered requests", (served,), Confidence.LIKELY)
