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


SEEN = "== gpus in container vllm\nFailed to initialize NVML: Unknown Error\n"
RELOADED = "2026-10-04T09:12:44+0200 rig systemd[1]: Reloading requested from client PID 8123 ('systemctl')...\n"
HOST = "index, name, uuid\n0, NVIDIA L4, GPU-aaaaaaaa-0000-0000-0000-000000000001\n"


def asked(files: dict[str, str]) -> list[Found]:
    return [o for o in outcomes(container_lost_gpu_cgroup, files) or () if isinstance(o, Found)]


def test_a_container_that_was_asked_is_named_and_the_reload_since_its_start_makes_it_certain() -> None:
    (found,) = asked({"inside.txt": SEEN + RELOADED, "smi.csv": HOST})
    assert (found.subject, found.confidence) == ("container vllm", Confidence.CERTAIN)
    assert "systemd was reloaded after the container was started" in found.message
    assert len(found.evidence) == 3


def test_without_a_reload_it_is_only_likely() -> None:
    (found,) = asked({"inside.txt": SEEN, "smi.csv": HOST})
    assert found.confidence is Confidence.LIKELY


def test_a_container_that_sees_its_gpus_is_not_accused() -> None:
    well = "== gpus in container vllm\nGPU 0: NVIDIA L4 (UUID: GPU-aaaaaaaa-0000-0000-0000-000000000001)\n"
    assert asked({"inside.txt": well + RELOADED, "smi.csv": HOST}) == []
    other = "== gpus in container vllm\nFailed to initialize NVML: Driver/library version mismatch\n"
    assert asked({"inside.txt": other, "smi.csv": HOST}) == []
