from judging import causes, outcomes

from qops.rule import Confidence, Found, RuledOut
from qops.rules.cuda.fabric_manager_not_running import fabric_manager_not_running


def test_cuda_802_alone() -> None:
    files = {
        "job.log": (
            'CUDA error at p2pLatency.cu:61 code=802(cudaErrorSystemNotReady) "cudaSetDevice(currentDevice)"\n'
        ),
    }
    found = next(f for f in outcomes(fabric_manager_not_running, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.LIKELY
    assert found.evidence
    assert causes(files)[0] == "fabric-manager-not-running"


def test_unit_is_dead() -> None:
    files = {
        "systemd.txt": (
            "* nvidia-fabricmanager.service - NVIDIA fabric manager service\n"
            "     Loaded: loaded (/lib/systemd/system/nvidia-fabricmanager.service; enabled)\n"
            "     Active: failed (Result: exit-code)\n"
        ),
    }
    found = next(f for f in outcomes(fabric_manager_not_running, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "fabric-manager-not-running"


def test_manager_of_another_version() -> None:
    files = {
        "systemd.txt": (
            "nv-fabricmanager[771]: fabric manager NVIDIA GPU driver interface version 570.211.01 "
            "don't match with driver version 580.95.05. Please update with matching NVIDIA driver "
            "package.\n"
        ),
    }
    found = next(f for f in outcomes(fabric_manager_not_running, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "fabric-manager-not-running"


def test_look_alike_dead_unit_of_another_service() -> None:
    assert "fabric-manager-not-running" not in causes(
        {
            "systemd.txt": ("* nvidia-powerd.service - nvidia-powerd service\n     Active: inactive (dead)\n"),
        }
    )


def test_ruled_out_when_a_gpu_is_missing() -> None:
    files = {
        "job.log": "Error 802: system not yet initialized\n",
        "nvidia-smi.txt": "Attached GPUs                             : 7\n",
    }
    assert any(isinstance(o, RuledOut) for o in outcomes(fabric_manager_not_running, files) or ())
    assert "fabric-manager-not-running" not in causes(files)


def test_ruled_out_when_manager_runs() -> None:
    files = {
        "job.log": "Error 802: system not yet initialized\n",
        "systemd.txt": "systemd[1]: Started NVIDIA fabric manager service.\n",
    }
    assert any(isinstance(o, RuledOut) for o in outcomes(fabric_manager_not_running, files) or ())
    assert "fabric-manager-not-running" not in causes(files)


def test_ruled_out_when_fabric_is_complete() -> None:
    files = {
        "job.log": ('"fabric_manager_active":false,"fabric_states":[{"state":"Completed","status":"Success"}]\n'),
    }
    assert any(isinstance(o, RuledOut) for o in outcomes(fabric_manager_not_running, files) or ())
    assert "fabric-manager-not-running" not in causes(files)


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(fabric_manager_not_running, {})
