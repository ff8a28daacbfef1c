from judging import causes, outcomes

from qops.rule import Confidence, Found
from qops.rules.host.systemd_ordering_cycle import systemd_ordering_cycle


def test_unit_is_dropped() -> None:
    files = {
        "journal.txt": (
            "multi-user.target: Found ordering cycle on vllm.service/start\n"
            "multi-user.target: Found dependency on docker.service/start\n"
            "multi-user.target: Job vllm.service/start deleted to break ordering cycle starting "
            "with multi-user.target/start\n"
        ),
    }
    found = next(f for f in outcomes(systemd_ordering_cycle, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "systemd-ordering-cycle"


def test_cycle_that_cannot_be_broken() -> None:
    files = {
        "journal.txt": (
            "nvidia-persistenced.service: Unable to break cycle starting with nvidia-persistenced.service/start\n"
        ),
    }
    found = next(f for f in outcomes(systemd_ordering_cycle, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "systemd-ordering-cycle"


def test_look_alike_cycle_of_units_that_serve_nothing_here() -> None:
    assert "systemd-ordering-cycle" not in causes(
        {
            "journal.txt": "sockets.target: Found ordering cycle on cups.socket/start\n",
        }
    )


def test_look_alike_dependency_failed_is_another_matter() -> None:
    assert "systemd-ordering-cycle" not in causes(
        {
            "journal.txt": "systemd[1]: Dependency failed for vllm.service - vLLM.\n",
        }
    )


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(systemd_ordering_cycle, {})
