"""NCL052: NCCL settings that work against each other, or reach further than their author meant."""

from collections.abc import Iterator

from qops.derive import nccl_settings
from qops.evidence.container import Containers
from qops.evidence.network import Network
from qops.evidence.process import Environment
from qops.rule import Confidence, Fix, Found, Role, RuledOut, Severity, rule


@rule("NCL052", "nccl-setting-conflict", severity=Severity.WARNING, role=Role.CONTRIBUTING)
def nccl_setting_conflict(
    environment: Environment, containers: Containers | None, network: Network | None
) -> Iterator[Found | RuledOut]:
    """NCCL settings contradict each other, or a prefix catches more than was meant."""
    for r in nccl_settings.lint(nccl_settings.variables(environment, containers), "", network):
        if r.kind in ("conflict", "prefix"):
            fix = Fix(f"{r.instead}" if r.kind == "conflict" else f"write {r.instead}")
            yield Found(r.owner, r.what, (r.quote, *r.others), Confidence.CERTAIN, fix=(fix,))
