from judging import causes, diagnose, outcomes

from qops.rule import Confidence, Found, RuledOut
from qops.rules.host.host_oom_killer import host_oom_killer


def test_whole_host() -> None:
    files = {
        "dmesg.txt": (
            "[ 88.1] python3 invoked oom-killer: gfp_mask=0x140cca, order=0\n"
            "[ 88.2] Out of memory: Killed process 4711 (python3) total-vm:900000kB, "
            "anon-rss:800000kB\n"
        ),
    }
    found = next(f for f in outcomes(host_oom_killer, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "host-oom-killer"


def test_cgroup() -> None:
    files = {
        "dmesg.txt": "Memory cgroup out of memory: Killed process 4711 (VLLM::EngineCor) total-vm:900000kB\n",
    }
    found = next(f for f in outcomes(host_oom_killer, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "host-oom-killer"


def test_docker_says_so() -> None:
    files = {
        "docker.txt": ('            "OOMKilled": true,\n            "ExitCode": 137,\n'),
    }
    found = next(f for f in outcomes(host_oom_killer, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "host-oom-killer"


def test_look_alike_exit_137_alone() -> None:
    assert "host-oom-killer" not in causes(
        {
            "docker.txt": "container exited with code 137\n",
        }
    )


def test_look_alike_gpu_memory() -> None:
    assert "host-oom-killer" not in causes(
        {
            "job.log": "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n",
        }
    )


def test_ruled_out_when_driver_ran_out_first() -> None:
    files = {
        "dmesg.txt": (
            "NVRM: memdescAlloc: Check failed: Out of memory [NV_ERR_NO_MEMORY] (0x51)\n"
            "worker invoked oom-killer: gfp_mask=0x102cc2\n"
        ),
    }
    assert any(isinstance(o, RuledOut) for o in outcomes(host_oom_killer, files) or ())
    assert "host-oom-killer" not in causes(files)


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(host_oom_killer, {})


def test_a_count_in_the_cgroup_is_a_warning_and_no_verdict() -> None:
    cgroup = "== cgroup of pid 41: /system.slice/vllm.service\nmemory.max 34359738368\noom_kill 2\n"
    (one,) = diagnose({"cgroups.txt": cgroup}).findings
    assert (one.cause, one.role, one.severity) == ("host-oom-killer", "contributing", "warning")
    assert diagnose({"cgroups.txt": cgroup.replace("oom_kill 2", "oom_kill 0")}).findings == ()


def test_rays_monitor_killed_before_the_kernel_had_to() -> None:
    text = "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\n"
    (one,) = [f for f in diagnose({"job.log": text}).findings if f.cause == "host-oom-killer"]
    assert "Ray's memory monitor" in one.message


def test_rays_list_of_what_may_have_been_is_no_sign() -> None:
    text = "There are some potential root causes. (1) The process is killed by SIGKILL by OOM killer due to high memory usage.\n"
    assert "host-oom-killer" not in causes({"job.log": text})
