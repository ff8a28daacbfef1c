from judging import causes, outcomes

from qops.rule import Confidence, Found
from qops.rules.host.driver_libraries_not_visible import driver_libraries_not_visible


def test_toolkit_finds_no_nvml() -> None:
    files = {
        "docker.txt": (
            "nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: "
            "cannot open shared object file: no such file or directory: unknown.\n"
        ),
    }
    found = next(f for f in outcomes(driver_libraries_not_visible, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "driver-libraries-not-visible"


def test_look_alike_another_library() -> None:
    assert "driver-libraries-not-visible" not in causes(
        {
            "docker.txt": "load library failed: libfoo.so.1: cannot open shared object file\n",
        }
    )


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(driver_libraries_not_visible, {})
