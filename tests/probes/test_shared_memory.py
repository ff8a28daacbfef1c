import pytest
from judging import text

from qops.evidence.kernel import SharedMemory
from qops.probes.shared_memory import parse, recognise


def read(*contents: str) -> SharedMemory:
    found = parse([text(c) for c in contents])
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("content", "size", "used"),
    [
        (
            "Filesystem 1K-blocks Used Available Use% Mounted on\nshm   65536   12  65524   1% /dev/shm\n",
            64 << 20,
            12 << 10,
        ),
        (
            "Filesystem      Size  Used Avail Use% Mounted on\ntmpfs           126G  1.5G  125G   2% /dev/shm\n",
            126 << 30,
            3 << 29,
        ),
        ("tmpfs on /dev/shm type tmpfs (rw,nosuid,nodev,inode64,size=2048k)\n", 2 << 20, None),
        ("shm /dev/shm tmpfs rw,nosuid,nodev,noexec,relatime,size=65536k 0 0\n", 64 << 20, None),
    ],
)
def test_size(content: str, size: int, used: int | None) -> None:
    found = read(content)
    assert (found.size, found.used, found.owner) == (size, used, "host")


def test_a_containers_own_comes_before_its_hosts() -> None:
    found = read(
        "tmpfs  126G 0 126G 0% /dev/shm\n", "$ docker exec -it llm df -h /dev/shm\nshm  64M 0 64M 0% /dev/shm\n"
    )
    assert (found.size, found.owner) == (64 << 20, "llm")


def test_segments_left_behind() -> None:
    found = read("tmpfs  65536 65536 0 100% /dev/shm\nleft behind: /dev/shm/nccl-Ab3dEf\n")
    assert found.leaked == ("/dev/shm/nccl-Ab3dEf",)


def test_a_listing() -> None:
    found = read("$ ls -l /dev/shm\ntotal 9640\n-rw------- 1 root root 9637892 Nov 30 10:15 nccl-9RtYu1\n")
    assert found.size is None
    assert found.leaked == ("/dev/shm/nccl-9RtYu1",)


def test_an_error_about_a_segment_is_not_a_listing() -> None:
    assert not recognise(text("NCCL WARN Error: failed to extend /dev/shm/nccl-9RtYu1 to 9637892 bytes"))
