import pytest
from judging import causes, found, outcomes

from qops.evidence.message import Logs
from qops.rule import Confidence
from qops.rules.host.disk_full import disk_full

HEAD = "Filesystem     Type     1024-blocks      Used Available Capacity Mounted on\n"
ROOT = "/dev/nvme0n1p2 ext4       511750000 120000000 365000000      25% /\n"
FULL = "/dev/nvme1n1p1 xfs       3750000000 3749999000      1000     100% /var/lib/docker\n"
BOOT = "/dev/nvme0n1p1 vfat          523244    523000       244     100% /boot/efi\n"
PULL = "failed to register layer: write /usr/local/lib/libtorch_cuda.so: no space left on device\n"
WRITE = "OSError: [Errno 28] No space left on device: '/var/lib/docker/tmp/GetImageBlob1'\n"


def test_a_filesystem_that_is_full() -> None:
    (one,) = outcomes(disk_full, {"df.txt": HEAD + ROOT + FULL, "job.log": "hello\n" + WRITE}) or ()
    assert one.message == "/var/lib/docker is full: 1 MB of 3840.0 GB are left"  # type: ignore[union-attr]
    assert one.confidence is Confidence.CERTAIN  # type: ignore[union-attr]


def test_a_filesystem_that_was_full() -> None:
    (one,) = outcomes(disk_full, {"df.txt": HEAD + ROOT, "job.log": WRITE}) or ()
    assert one.message == "/ was full, and has 373.8 GB again"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("line", "confidence"),
    [(PULL, Confidence.LIKELY), ("OSError: [Errno 28] No space left on device\n", Confidence.POSSIBLE)],
)
def test_only_a_program_says_so(line: str, confidence: Confidence) -> None:
    (one,) = outcomes(disk_full, {"job.log": line}) or ()
    assert one.confidence is confidence  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "line",
    [
        "RuntimeError: unable to write to file </torch_412_88_0>: No space left on device (28)\n",
        "shmutils.cc:87 NCCL WARN Error: failed to extend /dev/shm/nccl-a to 9 bytes, error: No space left on device (28)\n",
        "include/shm.h:28 NCCL WARN Call to posix_fallocate failed : No space left on device\n",
    ],
)
def test_look_alike_shared_memory_is_no_disk(line: str) -> None:
    assert outcomes(disk_full, {"job.log": line}) == ()
    assert "disk-full" not in causes({"job.log": line})


def test_look_alike_a_small_boot_partition() -> None:
    assert outcomes(disk_full, {"df.txt": HEAD + ROOT + BOOT, "job.log": "hello\nRuntimeError: x\n"}) == ()


def test_nothing_said_is_nothing() -> None:
    assert found(disk_full, Logs(())) == []
