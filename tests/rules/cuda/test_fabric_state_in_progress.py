from judging import causes, outcomes

from qops.rule import Confidence, Found, RuledOut
from qops.rules.cuda.fabric_state_in_progress import fabric_state_in_progress


def test_a_gpu_is_missing() -> None:
    files = {
        "nvidia-smi.txt": (
            "Attached GPUs                                          : 7\n"
            "    Fabric\n"
            "        State                                          : In Progress\n"
            "        Status                                         : N/A\n"
        ),
    }
    found = next(f for f in outcomes(fabric_state_in_progress, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "fabric-state-in-progress"


def test_state_alone() -> None:
    files = {
        "nvidia-smi.txt": (
            "    Fabric\n"
            "        State                             : In Progress\n"
            "        Status                            : N/A\n"
        ),
    }
    found = next(f for f in outcomes(fabric_state_in_progress, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.LIKELY
    assert found.evidence
    assert causes(files)[0] == "fabric-state-in-progress"


def test_look_alike_complete_fabric() -> None:
    assert "fabric-state-in-progress" not in causes(
        {
            "nvidia-smi.txt": (
                "    Fabric\n"
                "        State                             : Completed\n"
                "        Status                            : Success\n"
            ),
        }
    )


def test_look_alike_route_recovery_line() -> None:
    assert "fabric-state-in-progress" not in causes(
        {
            "nvidia-smi.txt": "            Route Recovery in progress    : N/A\n",
        }
    )


def test_ruled_out_when_manager_is_dead() -> None:
    files = {
        "nvidia-smi.txt": "        State                   : In Progress\n",
        "systemd.txt": "nvidia-fabricmanager.service: Failed with result 'exit-code'.\n",
    }
    assert any(isinstance(o, RuledOut) for o in outcomes(fabric_state_in_progress, files) or ())
    assert "fabric-state-in-progress" not in causes(files)


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(fabric_state_in_progress, {})
