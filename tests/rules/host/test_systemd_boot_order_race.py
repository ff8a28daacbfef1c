from judging import causes, outcomes

from qops.rule import Confidence, Found
from qops.rules.host.systemd_boot_order_race import systemd_boot_order_race


def test_cdi_and_a_restart_policy() -> None:
    files = {
        "systemd.txt": 'dockerd: could not select device driver \\"cdi\\" with capabilities: [[]]\n',
        "compose.txt": "    restart: unless-stopped\n",
    }
    found = next(f for f in outcomes(systemd_boot_order_race, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "systemd-boot-order-race"


def test_node_is_not_there_at_boot() -> None:
    files = {
        "docker.txt": (
            'error gathering device information while adding custom device "/dev/nvidia-uvm": no '
            "such file or directory\n"
            "RestartPolicy: always\n"
        ),
    }
    found = next(f for f in outcomes(systemd_boot_order_race, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "systemd-boot-order-race"


def test_generator_before_the_driver() -> None:
    files = {
        "job.log": ("nvidia-cdi-refresh: failed to generate CDI spec: failed to initialize NVML: Driver Not Loaded\n"),
    }
    found = next(f for f in outcomes(systemd_boot_order_race, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "systemd-boot-order-race"


def test_look_alike_toolkit_is_not_installed() -> None:
    assert "systemd-boot-order-race" not in causes(
        {
            "docker.txt": ('could not select device driver "" with capabilities: [[gpu]].\nrestart: always\n'),
        }
    )


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(systemd_boot_order_race, {})
