"""HST111: the host runs something else than what is installed on it, until it is rebooted."""

from collections.abc import Iterator

from qops.derive import reboot
from qops.evidence.boot import BootLoader
from qops.evidence.kernel import KernelCommandLine
from qops.evidence.readiness import Standing
from qops.rule import Confidence, Fix, Found, Role, RuledOut, Severity, rule


@rule(
    "HST111",
    "reboot-due",
    severity=Severity.WARNING,
    role=Role.CONTRIBUTING,
    fix=(
        Fix(
            "reboot when nothing serves; the playbook does it one host at a time and checks what comes back",
            commands=("ansible-playbook playbooks/reboot.yml --limit HOST",),
            risk="whatever runs on the host is interrupted",
            needs_reboot=True,
            variable="reboot_force",
            tag="reboot",
        ),
    ),
)
def reboot_due(
    standing: Standing, command_line: KernelCommandLine | None, boot: BootLoader | None
) -> Iterator[Found | RuledOut]:
    """A change of kernel or of its options waits for a reboot."""
    reasons = reboot.reasons(standing, command_line, boot)
    if not reasons:
        yield RuledOut("nothing waits for a reboot", (standing.quote,))
        return
    yield Found(
        subject="host",
        message=f"a reboot is due: {'; '.join(reasons)}",
        evidence=(standing.quote, *((command_line.quote,) if command_line else ())),
        confidence=Confidence.CERTAIN,
    )
