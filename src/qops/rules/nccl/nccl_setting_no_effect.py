"""NCL053: an NCCL setting does nothing, or says in an old way what it means."""

from collections.abc import Iterator

from qops.derive import nccl_settings
from qops.evidence.container import Containers
from qops.evidence.engine import EngineLogs
from qops.evidence.nccl import NcclLog
from qops.evidence.process import Environment
from qops.rule import Confidence, Fix, Found, Role, RuledOut, Severity, rule


@rule("NCL053", "nccl-setting-no-effect", severity=Severity.INFO, role=Role.CONTRIBUTING)
def nccl_setting_no_effect(
    environment: Environment, containers: Containers | None, nccl: NcclLog | None, engines: EngineLogs | None
) -> Iterator[Found | RuledOut]:
    """An NCCL setting does nothing in this release, or is an old number."""
    version = nccl_settings.release(nccl, engines)
    for r in nccl_settings.lint(nccl_settings.variables(environment, containers), version):
        if r.severity == "info":
            yield Found(r.owner, r.what, (r.quote,), Confidence.CERTAIN, fix=(Fix(r.instead),))
