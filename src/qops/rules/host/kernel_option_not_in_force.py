"""HST090: a kernel option that was chosen is not among those that the kernel was started with."""

from collections.abc import Iterator

from qops.evidence.boot import BootLoader
from qops.evidence.intent import Intent
from qops.evidence.kernel import KernelCommandLine
from qops.rule import Confidence, Fix, Found, Role, RuledOut, Severity, rule

# What the role pcie_p2p can choose; other keys of intent that begin so are kernel settings (sysctl).
OPTIONS = ("iommu", "amd_iommu", "intel_iommu", "pcie_aspm", "pcie_port_pm")


@rule(
    "HST090",
    "kernel-option-not-in-force",
    severity=Severity.WARNING,
    role=Role.CONTRIBUTING,
    fix=(
        Fix(
            "have the boot loader pass it, then reboot when nothing serves",
            commands=(
                "ansible-playbook site.yml --tags pcie_p2p --limit HOST",
                "ansible-playbook playbooks/reboot.yml --limit HOST",
            ),
            needs_reboot=True,
            variable="pcie_p2p_iommu",
            tag="pcie_p2p",
        ),
    ),
)
def kernel_option_not_in_force(
    command_line: KernelCommandLine, intent: Intent | None, boot: BootLoader | None
) -> Iterator[Found | RuledOut]:
    """A kernel option that was chosen for this host is not in force."""
    if intent is None or "pcie_p2p" not in intent.roles:
        return
    for name in OPTIONS:
        value, now = intent.settings.get(f"kernel.{name}"), command_line.value(name)
        if value is None or now == value:
            continue
        pending = boot is not None and boot.value(name) == value
        yield Found(
            subject="kernel",
            message=f"{name}={value} was chosen and the kernel was started "
            + (f"with {name}={now}" if now is not None else "without it")
            + ("; the next boot has it" if pending else ""),
            evidence=(command_line.quote,),
            confidence=Confidence.CERTAIN,
        )
