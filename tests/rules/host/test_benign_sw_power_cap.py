from judging import diagnose, outcomes

from qops.report import Verdict
from qops.rules.host.benign_sw_power_cap import benign_sw_power_cap


def test_active_is_no_fault() -> None:
    report = diagnose(
        {
            "smi.txt": "        SW Power Cap                      : Active\n",
        }
    )
    assert "benign-sw-power-cap" in [f.cause for f in report.findings]
    assert report.verdict is Verdict.HEALTHY


def test_mask_is_no_fault() -> None:
    report = diagnose(
        {
            "smi.csv": "0, 99 %, 0x0000000000000004\n",
        }
    )
    assert "benign-sw-power-cap" in [f.cause for f in report.findings]
    assert report.verdict is Verdict.HEALTHY


def test_look_alike_heat_too() -> None:
    assert not outcomes(
        benign_sw_power_cap,
        {
            "smi.txt": (
                "        SW Power Cap                      : Active\n"
                "            HW Thermal Slowdown           : Active\n"
            ),
        },
    )


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(benign_sw_power_cap, {})
