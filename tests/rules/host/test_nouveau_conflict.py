from judging import causes, outcomes

from qops.rule import Confidence, Found
from qops.rules.host.nouveau_conflict import nouveau_conflict


def test_driver_was_not_called() -> None:
    files = {
        "dmesg.txt": (
            "NVRM: The NVIDIA probe routine was not called for 2 device(s).\n"
            "NVRM: was loaded and obtained ownership of the NVIDIA device(s).\n"
        ),
    }
    found = next(f for f in outcomes(nouveau_conflict, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "nouveau-conflict"


def test_installer() -> None:
    files = {
        "job.log": (
            "ERROR: The Nouveau kernel driver is currently in use by your system.  This driver is incompatible\n"
        ),
    }
    found = next(f for f in outcomes(nouveau_conflict, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "nouveau-conflict"


def test_look_alike_blacklist_file() -> None:
    assert "nouveau-conflict" not in causes(
        {
            "job.log": ("blacklist nouveau\noptions nouveau modeset=0\n"),
        }
    )


def test_look_alike_lspci_names_candidates() -> None:
    assert "nouveau-conflict" not in causes(
        {
            "job.log": ("\tKernel driver in use: nvidia\n\tKernel modules: nvidiafb, nouveau, nvidia_drm, nvidia\n"),
        }
    )


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(nouveau_conflict, {})
