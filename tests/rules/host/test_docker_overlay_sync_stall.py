from judging import causes, outcomes

from qops.rule import Confidence, Found
from qops.rules.host.docker_overlay_sync_stall import docker_overlay_sync_stall


def test_dockerd_waits() -> None:
    files = {
        "dmesg.txt": (
            "INFO: task dockerd:1810 blocked for more than 122 seconds.\n"
            "  ovl_sync_fs+0x2f/0x50\n"
            "  sync_filesystem+0x74/0x90\n"
        ),
    }
    found = next(f for f in outcomes(docker_overlay_sync_stall, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "docker-overlay-sync-stall"


def test_stack_alone() -> None:
    files = {
        "stack.txt": ("[<0>] ovl_sync_fs+0x2f/0x50\n[<0>] sync_filesystem+0x74/0x90\n"),
    }
    found = next(f for f in outcomes(docker_overlay_sync_stall, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.LIKELY
    assert found.evidence
    assert causes(files)[0] == "docker-overlay-sync-stall"


def test_look_alike_another_task_waits_for_its_disk() -> None:
    assert "docker-overlay-sync-stall" not in causes(
        {
            "dmesg.txt": (
                "INFO: task jbd2/sda1-8:402 blocked for more than 120 seconds.\n  wait_on_page_bit+0x1/0x2\n"
            ),
        }
    )


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(docker_overlay_sync_stall, {})
