from judging import causes, outcomes

from qops.rule import Confidence, Found
from qops.rules.host.secure_boot_module_rejected import secure_boot_module_rejected


def test_modprobe() -> None:
    files = {
        "job.log": "modprobe: ERROR: could not insert 'nvidia': Key was rejected by service\n",
    }
    found = next(f for f in outcomes(secure_boot_module_rejected, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "secure-boot-module-rejected"


def test_modules_load() -> None:
    files = {
        "job.log": ("systemd-modules-load[402]: Failed to insert module 'nvidia_uvm': Required key not available\n"),
    }
    found = next(f for f in outcomes(secure_boot_module_rejected, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "secure-boot-module-rejected"


def test_kernel_line_beside_the_failure() -> None:
    files = {
        "job.log": (
            "Loading of unsigned module is rejected\n"
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"
        ),
    }
    found = next(f for f in outcomes(secure_boot_module_rejected, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.LIKELY
    assert found.evidence
    assert causes(files)[0] == "secure-boot-module-rejected"


def test_look_alike_module_of_a_network_card() -> None:
    assert "secure-boot-module-rejected" not in causes(
        {
            "job.log": "modprobe: ERROR: could not insert 'r8125': Key was rejected by service\n",
        }
    )


def test_look_alike_taint_is_only_a_note() -> None:
    assert "secure-boot-module-rejected" not in causes(
        {
            "dmesg.txt": (
                "nvidia: module verification failed: signature and/or required key missing - tainting kernel\n"
            ),
        }
    )


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(secure_boot_module_rejected, {})
