"""SRV801: the engine said that it serves."""

from collections.abc import Iterator

from qops.evidence.engine import EngineLogs
from qops.rule import Confidence, Found, Role, RuledOut, Severity, rule


@rule("SRV801", "engine-ready", role=Role.INFO, severity=Severity.INFO)
def engine_ready(engines: EngineLogs) -> Iterator[Found | RuledOut]:
    """The engine said that it serves."""
    for log in engines.logs:
        if log.ready:
            yield Found(
                "engine",
                f"{log.engine} {log.version} said that it serves".replace("  ", " "),
                (log.quote,),
                Confidence.CERTAIN,
            )
            return
