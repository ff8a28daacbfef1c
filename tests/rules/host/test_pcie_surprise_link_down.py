from judging import causes, outcomes

from qops.rule import Confidence, Found
from qops.rules.host.pcie_surprise_link_down import pcie_surprise_link_down


def test_status_bit_and_a_lost_gpu() -> None:
    files = {
        "dmesg.txt": (
            "[Hardware Error]:   aer_uncor_status: 0x00000020, aer_uncor_mask: 0x00100000\n"
            "NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.\n"
        ),
    }
    found = next(f for f in outcomes(pcie_surprise_link_down, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "pcie-surprise-link-down"


def test_decoded_bit() -> None:
    files = {
        "dmesg.txt": "pcieport 0000:40:01.1:    [ 5] SDES                   (First)\n",
    }
    found = next(f for f in outcomes(pcie_surprise_link_down, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "pcie-surprise-link-down"


def test_power_management_is_off_already() -> None:
    files = {
        "dmesg.txt": (
            "aer_uncor_status: 0x00000020\nBOOT_IMAGE=/vmlinuz root=/dev/sda1 pcie_aspm=off pcie_port_pm=off\n"
        ),
    }
    found = next(f for f in outcomes(pcie_surprise_link_down, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.LIKELY
    assert found.evidence
    assert causes(files)[0] == "pcie-surprise-link-down"


def test_look_alike_completion_timeout() -> None:
    assert "pcie-surprise-link-down" not in causes(
        {
            "dmesg.txt": "aer_uncor_status: 0x00004000\n",
        }
    )


def test_look_alike_severity_register_holds_the_bit_always() -> None:
    assert "pcie-surprise-link-down" not in causes(
        {
            "lspci.txt": ("\t\tUESta:\tDLP- SDES- TLP- FCP-\n\t\tUESvrt:\tDLP+ SDES+ TLP- FCP+\n"),
        }
    )


def test_look_alike_slot_link_down_may_be_power() -> None:
    assert "pcie-surprise-link-down" not in causes(
        {
            "dmesg.txt": (
                "pcieport 0000:40:01.1: pciehp: Slot(3): Link Down\n"
                "NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.\n"
            ),
        }
    )


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(pcie_surprise_link_down, {})
