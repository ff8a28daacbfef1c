from judging import text

from qops.probes.iommu import parse, recognise


def test_units_and_group_types() -> None:
    found = parse([text("== iommu units\nunit dmar0\nunit dmar1\n== iommu groups\n     41 DMA-FQ\n      2 identity\n")])
    assert found is not None
    assert found.units == ("dmar0", "dmar1")
    assert found.group_types == ("DMA-FQ", "identity")


def test_no_unit_is_an_answer() -> None:
    found = parse([text("== iommu units\n== iommu groups\n")])
    assert found is not None
    assert found.units == ()


def test_pasted_listing() -> None:
    found = parse([text("$ ls /sys/class/iommu/\nivhd0  ivhd1\n$ uname -r\n6.8.0\n")])
    assert found is not None
    assert found.units == ("ivhd0", "ivhd1")


def test_groups_alone_show_a_unit_at_work() -> None:
    found = parse([text("/sys/kernel/iommu_groups/7/devices/0000:41:00.0\n/sys/kernel/iommu_groups/7/type:DMA\n")])
    assert found is not None
    assert found.units
    assert found.group_types == ("DMA",)


def test_words_about_an_iommu_are_none() -> None:
    assert not recognise(text("please disable the iommu in the BIOS"))
