import pytest
from judging import causes, diagnose, outcomes

from qops.report import Verdict
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


HOT_XML = """\
<?xml version="1.0" ?>
<nvidia_smi_log>
	<driver_version>580.95.05</driver_version>
	<attached_gpus>1</attached_gpus>
	<gpu id="00000000:3B:00.0">
		<product_name>NVIDIA L40S</product_name>
		<clocks_event_reasons>
			<clocks_event_reason_gpu_idle>Not Active</clocks_event_reason_gpu_idle>
			<clocks_event_reason_sw_thermal_slowdown>Active</clocks_event_reason_sw_thermal_slowdown>
		</clocks_event_reasons>
	</gpu>
</nvidia_smi_log>
"""
HOT_TEXT = """\
Attached GPUs                             : 1
GPU 00000000:3B:00.0
    Product Name                          : NVIDIA L40S
    Clocks Event Reasons
        Idle                              : Not Active
        SW Thermal Slowdown               : Active
"""


@pytest.mark.parametrize("said", [HOT_XML, HOT_TEXT], ids=["xml", "text"])
def test_the_line_of_the_reason_is_quoted(said: str) -> None:
    (hot,) = (o for o in outcomes(thermal_throttle, {"smi.txt": said}) or () if isinstance(o, Found))
    assert hot.subject == "GPU 0 (NVIDIA L40S)"
    assert ["hermal" in quote.text and "Active" in quote.text for quote in hot.evidence] == [True]


COUNTED = """\
    Performance State                     : {state}
    Clocks Event Reasons
        SW Power Cap                      : Not Active
            HW Thermal Slowdown           : Not Active
        SW Thermal Slowdown               : Not Active
    Clocks Event Reasons Counters
        SW Thermal Slowdown               : 731000000 us
"""


def test_past_heat_of_an_idle_gpu_is_a_note() -> None:
    assert diagnose({"smi.txt": COUNTED.format(state="P8")}).verdict is Verdict.HEALTHY


def test_past_heat_of_a_gpu_that_works_is_a_finding() -> None:
    assert causes({"smi.txt": COUNTED.format(state="P0")}) == ["thermal-throttle"]
