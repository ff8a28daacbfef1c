"""NCL051: an NCCL setting is misspelt, so that NCCL ignores it without a word."""

from collections.abc import Iterator

from qops.derive import nccl_settings
from qops.evidence.container import Containers
from qops.evidence.engine import EngineLogs
from qops.evidence.nccl import NcclLog
from qops.evidence.process import Environment
from qops.rule import Confidence, Fix, Found, Role, RuledOut, Severity, rule


@rule("NCL051", "nccl-setting-typo", severity=Severity.WARNING, role=Role.CONTRIBUTING)
def nccl_setting_typo(
    environment: Environment, containers: Containers | None, nccl: NcclLog | None, engines: EngineLogs | None
) -> Iterator[Found | RuledOut]:
    """An NCCL setting is misspelt, so NCCL ignores it silently or reads something else in it."""
    version = nccl_settings.release(nccl, engines)
    for r in nccl_settings.lint(nccl_settings.variables(environment, containers), version):
        if r.severity == "warning" and r.kind in ("typo", "unknown", "no effect"):
            yield Found(r.owner, r.what, (r.quote,), Confidence.CERTAIN, fix=(Fix(f"write {r.instead}"),))
