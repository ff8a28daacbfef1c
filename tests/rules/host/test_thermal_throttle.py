from judging import causes, outcomes

from qops.rule import Confidence, Found
from qops.rules.host.thermal_throttle import thermal_throttle


def test_hardware_slowdown() -> None:
    files = {
        "smi.txt": "            HW Thermal Slowdown           : Active\n",
    }
    found = next(f for f in outcomes(thermal_throttle, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "thermal-throttle"


def test_reason_mask() -> None:
    files = {
        "smi.csv": "0, 94 %, 1155 MHz, 0x0000000000000040\n",
    }
    found = next(f for f in outcomes(thermal_throttle, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "thermal-throttle"


def test_long_counter() -> None:
    files = {
        "smi.txt": "        SW Thermal Slowdown               : 173000000 us\n",
    }
    found = next(f for f in outcomes(thermal_throttle, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.LIKELY
    assert found.evidence
    assert causes(files)[0] == "thermal-throttle"


def test_look_alike_power_cap() -> None:
    assert "thermal-throttle" not in causes(
        {
            "smi.txt": (
                "        SW Power Cap                      : Active\n"
                "            HW Thermal Slowdown           : Not Active\n"
            ),
        }
    )


def test_look_alike_short_peak() -> None:
    assert "thermal-throttle" not in causes(
        {
            "smi.txt": "        SW Thermal Slowdown               : 90315 us\n",
        }
    )


def test_look_alike_memory_map() -> None:
    assert "thermal-throttle" not in causes(
        {
            "dmesg.txt": "BIOS-e820: [mem 0x0000000000000000-0x0000000000000fff] reserved\n",
        }
    )


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(thermal_throttle, {})
