import pytest
from judging import text

from qops.errors import ParseError
from qops.evidence.text import Text
from qops.probes.kernel_cmdline import PROBE, parse, recognise

LINE = 'BOOT_IMAGE=/vmlinuz-6.8.0-45-generic root=UUID=ab ro quiet iommu=pt iommu=off dyndbg="file x.c +p" pci=realloc'


@pytest.mark.parametrize("before", ["", "[    0.000000] Command line: ", "[    0.76] Kernel command line: ", "    "])
def test_options_and_their_last_value(before: str) -> None:
    loose = text(f"some words\n{before}{LINE}\nmore words\n")
    assert recognise(loose)
    found = parse([loose])
    assert found is not None
    assert found.value("iommu") == "off"
    assert found.value("ro") == ""
    assert found.value("intel_iommu") is None
    assert 'dyndbg="file x.c +p"' in found.options
    assert found.quote.line == 2


def test_a_wrapped_paste_goes_on() -> None:
    found = parse([text("BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro\n    security=apparmor iommu=pt\n$ lspci\n")])
    assert found is not None
    assert found.options[-2:] == ("security=apparmor", "iommu=pt")


def test_grub_settings_are_not_in_force() -> None:
    assert not recognise(text('GRUB_CMDLINE_LINUX_DEFAULT="quiet iommu=off"'))


def test_an_answer_needs_no_boot_image() -> None:
    found = parse([Text("/proc/cmdline", ("console=ttyS0 quiet",), probe=PROBE.name)])
    assert found is not None
    assert found.options == ("console=ttyS0", "quiet")


def test_an_empty_answer_cannot_be_read() -> None:
    with pytest.raises(ParseError):
        parse([Text("/proc/cmdline", (), probe=PROBE.name)])


def test_a_cut_out_of_one() -> None:
    found = parse([text("... console=ttyS0,115200 rw security=apparmor iommu=pt\n")])
    assert found is not None
    assert found.value("iommu") == "pt"


def test_other_lists_of_settings_are_none() -> None:
    assert not recognise(text("intel_iommu=on iommu=pt\nsize=3 batch=4 lr=0.1 quiet\nroot=model dtype=bf16 tp=2 quiet"))
