"""Which IOMMU units are at work, and how their groups translate."""

from collections.abc import Sequence

from qops.evidence.kernel import Iommu
from qops.evidence.text import Quote, Text
from qops.pattern import lazy
from qops.probes.base import Command, Probe

# /sys/class/iommu has one link for each unit; a group's type is in /sys/kernel/iommu_groups/N/type
# (kernel documentation, ABI/testing/sysfs-class-iommu and sysfs-kernel-iommu_groups).
# QOPS_ROOT shows another machine's /sys in place of this one's.
SCRIPT = """[ -d "$QOPS_ROOT/sys/class/iommu" ] || QOPS_ROOT=
echo '== iommu units'
for u in "$QOPS_ROOT"/sys/class/iommu/*; do [ -e "$u" ] && echo "unit ${u##*/}"; done
echo '== iommu groups'
cat "$QOPS_ROOT"/sys/kernel/iommu_groups/*/type 2>/dev/null | sort | uniq -c
"""

_HEADER = "== iommu units"
_UNIT = lazy(r"unit ([\w.:-]{1,80})\s*$")
_COUNTED = lazy(r"\s*[0-9]{1,9} (DMA-FQ|DMA|identity|blocked|auto|unmanaged)\s*$")
_TYPE = lazy(r"/sys/kernel/iommu_groups/[0-9]{1,6}/type:?\s*(DMA-FQ|DMA|identity|blocked)\b")
_DEVICE = lazy(r"/sys/kernel/iommu_groups/[0-9]{1,6}/devices/")
_LISTED = lazy(r"\bls\b[^|]*\s/sys/class/iommu/?\s*$")
_NAMES = lazy(r"\s*(?:(?:dmar|ivhd|smmu|iommu|arm-smmu|virtio|riscv)[\w.:-]*\s*)+$")


def recognise(text: Text) -> bool:
    """Return whether `text` lists IOMMU units or groups."""
    return any(
        line.startswith(_HEADER)
        or ("iommu" in line and (_LISTED.search(line) or _TYPE.search(line) or _DEVICE.search(line)))
        for line in text.lines
    )


def parse(texts: Sequence[Text]) -> Iommu | None:
    """Return the units and the kinds of groups seen. Groups without a list of units show that one is at work."""
    units: dict[str, None] = {}
    types: dict[str, None] = {}
    quote: Quote | None = None
    groups = False
    for text in texts:
        listing = own = False
        for index, line in enumerate(text.lines):
            if line.startswith(_HEADER) or _LISTED.search(line):
                quote = quote or text.quote(index)
                listing = True
                own = own or line.startswith(_HEADER)
            elif match := _UNIT.match(line) if listing else None:
                units[match[1]] = None
            elif match := (_COUNTED.match(line) if own else None) or _TYPE.search(line):
                groups = True
                types[match[1]] = None
                quote = quote or text.quote(index)
            elif _DEVICE.search(line):
                groups = True
                quote = quote or text.quote(index)
            elif listing and _NAMES.match(line[:2000]):
                units |= dict.fromkeys(line.split())
            elif listing and not line.startswith("=="):
                listing = False
    if quote is None:
        return None
    if groups and not units:
        units["iommu_groups"] = None
    return Iommu(tuple(units), tuple(types), quote)


PROBE = Probe(
    name="iommu",
    makes=Iommu,
    parse=parse,
    recognise=recognise,
    asks=(Command(("sh", "-c", SCRIPT), "whether an IOMMU translates what the GPUs send", name="iommu"),),
)
