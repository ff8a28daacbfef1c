from judging import causes, outcomes

from qops.rule import Confidence, Found, RuledOut
from qops.rules.host.container_lost_gpu_cgroup import container_lost_gpu_cgroup


def test_inside_fails_outside_answers() -> None:
    files = {
        "docker.txt": ("(container) $ nvidia-smi\nFailed to initialize NVML: Unknown Error\n"),
        "host.txt": "GPU 0: NVIDIA L4 (UUID: GPU-aaaaaaaa-0000-0000-0000-000000000001)\n",
        "systemd.txt": "systemctl daemon-reload\n",
    }
    found = next(f for f in outcomes(container_lost_gpu_cgroup, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "container-lost-gpu-cgroup"


def test_error_alone_is_only_possible() -> None:
    files = {
        "job.log": "Failed to initialize NVML: Unknown Error\n",
    }
    found = next(f for f in outcomes(container_lost_gpu_cgroup, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.POSSIBLE
    assert found.evidence
    assert causes(files)[0] == "container-lost-gpu-cgroup"


def test_look_alike_other_nvml_error() -> None:
    assert "container-lost-gpu-cgroup" not in causes(
        {
            "job.log": "Failed to initialize NVML: Insufficient Permissions\n",
        }
    )


def test_ruled_out_when_gpu_is_gone() -> None:
    files = {
        "job.log": "Failed to initialize NVML: Unknown Error\n",
        "dmesg.txt": "NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.\n",
    }
    assert any(isinstance(o, RuledOut) for o in outcomes(container_lost_gpu_cgroup, files) or ())
    assert "container-lost-gpu-cgroup" not in causes(files)


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(container_lost_gpu_cgroup, {})
