from judging import causes, outcomes

from qops.rule import Confidence, Found
from qops.rules.host.power_brake_slowdown import power_brake_slowdown


def test_active() -> None:
    files = {
        "smi.txt": "            HW Power Brake Slowdown       : Active\n",
    }
    found = next(f for f in outcomes(power_brake_slowdown, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "power-brake-slowdown"


def test_look_alike_not_active() -> None:
    assert "power-brake-slowdown" not in causes(
        {
            "smi.txt": (
                "            HW Power Brake Slowdown       : Not Active\n"
                "        SW Power Cap                      : Active\n"
            ),
        }
    )


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(power_brake_slowdown, {})
