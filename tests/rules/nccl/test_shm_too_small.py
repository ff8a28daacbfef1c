import pytest
from judging import causes, diagnose, outcomes

from qops.rule import Confidence, Found, RuledOut
from qops.rules.nccl.shm_too_small import shm_too_small as rule

EXTEND = "pod-3:71:96 [2] misc/shmutils.cc:72 NCCL WARN Error: failed to extend /dev/shm/nccl-Zp81Qa to 9637892 bytes"
WITH_ERROR = f"{EXTEND}, error: No space left on device (28)\n"
OLDER = "pod-3:71:96 [2] include/shm.h:28 NCCL WARN Call to posix_fallocate failed : No space left on device\n"
SMALL = "$ df -h /dev/shm\nFilesystem      Size  Used Avail Use% Mounted on\nshm              64M   60M  4.0M  94% /dev/shm\n"
LARGE = "$ df -h /dev/shm\nFilesystem      Size  Used Avail Use% Mounted on\ntmpfs           252G  1.1G  251G   1% /dev/shm\n"


@pytest.mark.parametrize("text", [WITH_ERROR, OLDER, EXTEND + "\n"])
def test_all_wordings(text: str) -> None:
    assert causes({"job.log": text})[:1] == ["shm-too-small"]


def test_the_size_is_named() -> None:
    (found,) = outcomes(rule, {"job.log": WITH_ERROR, "df.txt": SMALL}) or ()
    assert isinstance(found, Found)
    assert "9637892 bytes" in found.message and "64 MiB" in found.message
    assert found.confidence is Confidence.CERTAIN


def test_torch_and_a_bus_error() -> None:
    torch = "RuntimeError: unable to write to file </torch_412_88_0>: No space left on device (28)\n"
    assert causes({"job.log": torch})[:1] == ["shm-too-small"]
    assert "shm-too-small" in causes({"job.log": "Bus error (core dumped)\n", "df.txt": SMALL})


def test_a_full_disk_is_another_fault() -> None:
    text = "OSError: [Errno 28] No space left on device: '/models/blobs/3f0a.incomplete'\n"
    assert "shm-too-small" not in causes({"job.log": text, "df.txt": LARGE})


def test_a_bus_error_with_room_in_shm_is_another_fault() -> None:
    assert "shm-too-small" not in causes({"job.log": "Bus error (core dumped)\n", "df.txt": LARGE})


def test_no_permission_is_another_fault() -> None:
    text = f"{EXTEND}, error: Permission denied (13)\n"
    assert "shm-too-small" not in causes({"job.log": text})


def test_much_room_rules_it_out_where_the_text_names_no_error() -> None:
    told = outcomes(rule, {"job.log": EXTEND + "\n", "df.txt": LARGE}) or ()
    assert [type(o) for o in told] == [RuledOut]


def test_a_small_shm_alone_is_no_fault() -> None:
    assert causes({"df.txt": SMALL}) == []


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(rule, {}) is None


@pytest.mark.parametrize(
    "crash",
    [
        "Fatal Python error: Bus error\n",
        "E1101 api.py:9] failed (exitcode: -7) local_rank: 1 (pid: 31) of binary: python\n",
    ],
)
def test_a_bus_error_in_other_words(crash: str) -> None:
    disk = "Filesystem      Size  Used Avail Use% Mounted on\nshm              64M   63M  1.0M  99% /dev/shm\n"
    assert causes({"job.log": crash, "df.txt": disk})[:1] == ["shm-too-small"]
    assert "shm-too-small" not in causes({"job.log": crash})


def test_a_small_one_beside_several_gpus_is_a_warning_and_no_verdict() -> None:
    files = {"df.txt": "tmpfs 65536 0 65536 0% /dev/shm\n", "L.txt": "GPU 0: A (UUID: GPU-1)\nGPU 1: A (UUID: GPU-2)\n"}
    report = diagnose(files)
    (one,) = [f for f in report.findings if f.cause == "shm-too-small"]
    assert (one.role, one.severity) == ("contributing", "warning")
    assert report.verdict != "fault"


def test_memory_that_cuda_refuses_had_room() -> None:
    text = (
        "[2] misc/shmutils.cc:105 NCCL WARN Cuda failure 'invalid argument'\n"
        "[2] misc/shmutils.cc:116 NCCL WARN Error while creating shared memory segment /dev/shm/nccl-Kq29Zd (size 5767168)\n"
    )
    assert "shm-too-small" not in causes({"job.log": text})
    assert causes({"job.log": text + EXTEND + "\n"})[:1] == ["shm-too-small"]


def test_a_segment_that_another_rank_made_does_not_need_room() -> None:
    text = "[2] NCCL WARN Error while attaching to shared memory segment /dev/shm/nccl-Kq29Zd (size 5767168)\n"
    assert "shm-too-small" not in causes({"job.log": text})
