from judging import causes, outcomes

from qops.rule import Confidence, Found, RuledOut
from qops.rules.host.kernel_upgrade_no_module import kernel_upgrade_no_module


def test_module_for_another_kernel() -> None:
    files = {
        "a.txt": "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n",
        "b.txt": ("6.8.0-55-generic\n/lib/modules/6.8.0-51-generic/updates/dkms/nvidia.ko.zst\n"),
    }
    found = next(f for f in outcomes(kernel_upgrade_no_module, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "kernel-upgrade-no-module"


def test_modprobe_finds_none() -> None:
    files = {
        "job.log": "modprobe: FATAL: Module nvidia not found in directory /lib/modules/6.8.0-55-generic\n",
    }
    found = next(f for f in outcomes(kernel_upgrade_no_module, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.LIKELY
    assert found.evidence
    assert causes(files)[0] == "kernel-upgrade-no-module"


def test_build_failed() -> None:
    files = {
        "job.log": (
            "Error! Bad return status for module build on kernel: 6.14.0-24-generic (x86_64)\n"
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"
        ),
    }
    found = next(f for f in outcomes(kernel_upgrade_no_module, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.LIKELY
    assert found.evidence
    assert causes(files)[0] == "kernel-upgrade-no-module"


def test_look_alike_driver_out_of_reach_alone() -> None:
    assert "kernel-upgrade-no-module" not in causes(
        {
            "job.log": "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n",
        }
    )


def test_look_alike_another_module() -> None:
    assert "kernel-upgrade-no-module" not in causes(
        {
            "job.log": "modprobe: FATAL: Module zfs not found in directory /lib/modules/6.8.0-55-generic\n",
        }
    )


def test_ruled_out_when_module_is_there() -> None:
    files = {
        "a.txt": (
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"
            "6.8.0-55-generic\n"
            "nvidia/580.95.05, 6.8.0-55-generic, x86_64: installed\n"
        ),
    }
    assert any(isinstance(o, RuledOut) for o in outcomes(kernel_upgrade_no_module, files) or ())
    assert "kernel-upgrade-no-module" not in causes(files)


def test_ruled_out_when_signature_refused() -> None:
    files = {
        "job.log": (
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"
            "modprobe: ERROR: could not insert 'nvidia': Key was rejected by service\n"
        ),
    }
    assert any(isinstance(o, RuledOut) for o in outcomes(kernel_upgrade_no_module, files) or ())
    assert "kernel-upgrade-no-module" not in causes(files)


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(kernel_upgrade_no_module, {})
