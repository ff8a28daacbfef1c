"""HST805: the kernel prints a translated default domain although the IOMMU is off."""

from collections.abc import Iterator

from qops.data.messages import kernel
from qops.evidence.kernel import Iommu, KernelCommandLine
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Found, Role, Severity, rule

SWITCHES = ("iommu", "amd_iommu", "intel_iommu")


@rule("HST805", "benign-iommu-translated-off", role=Role.INFO, severity=Severity.INFO)
def benign_iommu_translated_off(logs: Logs, options: KernelCommandLine | None, iommu: Iommu | None) -> Iterator[Found]:
    """The kernel prints a translated default domain although the IOMMU is off: the line is only a default."""
    said = logs.find(kernel.IOMMU_TRANSLATED)
    if not said or (iommu and iommu.units):
        return
    off = quotes(logs.find(kernel.IOMMU_OFF), 1)
    if options and any(options.value(s) == "off" for s in SWITCHES):
        off = (options.quote,)
    if off or iommu:
        none = (iommu.quote,) if iommu and iommu.quote else ()
        yield Found(
            subject="host",
            message="the default domain type is Translated, but no IOMMU is at work",
            evidence=(*quotes(said, 1), *off, *none),
            confidence=Confidence.CERTAIN,
        )
