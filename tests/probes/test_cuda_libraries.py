from elf_files import library
from judging import text

from qops.evidence.process import CudaLibraries, CudaLibrary
from qops.evidence.text import Text
from qops.probes.cuda_libraries import parse, recognise

ANSWER = """== libraries
/usr/lib/x86_64-linux-gnu/libcuda.so.1 -> /usr/lib/x86_64-linux-gnu/libcuda.so.580.159.04
/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1 -> /usr/lib/x86_64-linux-gnu/libnvidia-ml.so.580.159.04
/usr/local/cuda/compat/libcuda.so.1 -> /usr/local/cuda-13.0/compat/libcuda.so.580.95.05
/usr/local/cuda/lib64/stubs/libcuda.so -> /usr/local/cuda-13.0/targets/x86_64-linux/lib/stubs/libcuda.so
== loader
\tlibcuda.so.1 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libcuda.so.1
\tlibnccl.so.2 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libnccl.so.2
LD_LIBRARY_PATH=/usr/local/cuda/compat
/etc/ld.so.conf.d/000_cuda.conf:/usr/local/cuda/compat
== compat notes
note /usr/local/cuda-13.0/compat/libcuda.so.580.95.05 {"format":1,"CUDA version":"13.0","driver":[535,570],"device":[7]}
"""


def read(*texts: Text) -> CudaLibraries:
    assert any(recognise(t) for t in texts)
    found = parse(texts)
    assert found is not None
    return found


def by_path(found: CudaLibraries) -> dict[str, CudaLibrary]:
    return {x.path: x for x in found.libraries}


def test_the_answer_of_our_own_script() -> None:
    found = read(text(ANSWER))
    assert found.picked[:2] == ("/usr/local/cuda/compat/libcuda.so.1", "/usr/lib/x86_64-linux-gnu/libcuda.so.1")
    assert {x.version for x in found.driver} == {"580.159.04"}
    compat = by_path(found)["/usr/local/cuda/compat/libcuda.so.1"]
    assert (compat.version, compat.compat, compat.compat_drivers, compat.compat_cuda) == (
        "580.95.05",
        True,
        (535, 570),
        "13.0",
    )
    assert [x.path for x in found.libraries if x.stub and x.version == ""] == [
        "/usr/local/cuda/lib64/stubs/libcuda.so",
        "/usr/local/cuda-13.0/targets/x86_64-linux/lib/stubs/libcuda.so",
    ]


def test_listings_of_folders() -> None:
    found = read(
        text(
            "/usr/local/cuda-12.9/compat:\nlibcuda.so\nlibcuda.so.1\nlibcuda.so.575.57.08\nlibnvidia-nvvm.so\n\nlibcuda.so.9\n"
            "$ ls -l /usr/local/nvidia/lib64\nlrwxrwxrwx 1 root root 20 Nov 30 10:15 libcuda.so.1 -> libcuda.so.570.86.10\n"
        )
    )
    files = by_path(found)
    assert files["/usr/local/cuda-12.9/compat/libcuda.so.1"].version == "575.57.08"
    assert files["/usr/local/nvidia/lib64/libcuda.so.1"].version == "570.86.10"
    assert len(found.compat) == 3
    assert found.picked == ()


def test_what_processes_have_mapped() -> None:
    found = read(
        text(
            "/proc/615/maps:/usr/lib/libcuda.so.580.95.05\n"
            "== pid 616\n7f00a0000000-7f00a1000000 r-xp 00000000 08:01 99 /opt/venv/lib/libnccl.so.2.28.9 (deleted)\n"
        )
    )
    assert found.loaded == ((615, "/usr/lib/libcuda.so.580.95.05"), (616, "/opt/venv/lib/libnccl.so.2.28.9"))
    assert by_path(found)["/opt/venv/lib/libnccl.so.2.28.9"].version == "2.28.9"


def test_ldd() -> None:
    found = read(text("\tlibcuda.so.1 => /usr/lib64/libcuda.so.1 (0x00007f1200000000)\n"))
    assert found.picked == ("/usr/lib64/libcuda.so.1",)


def test_a_library_itself() -> None:
    found = read(Text("image/usr/local/cuda/compat/libcuda.so.580.95.05", (), data=library()))
    (one,) = found.libraries
    assert (one.version, one.compat, one.compat_drivers) == ("580.95.05", True, (535, 550, 570, 575))
    nccl = Text("libnccl.so.2", (), data=b"\x7fELF" + bytes(60) + b"NCCL version 2.27.3+cuda12.9\0")
    assert read(nccl).libraries[0].version == "2.27.3"


def test_other_bytes_and_words() -> None:
    assert not recognise(Text("dump.pkl", (), data=b"\x80\x04."))
    assert parse([Text("a.so", (), data=b"\x7fELF\x02\x01")]) is None
    assert not recognise(
        text("    cuCtxSynchronize_v2 (libcuda.so.580.159.04)\nrm /usr/local/cuda/compat/libcuda.so.1 please\n")
    )


def test_the_version_of_a_packaged_nccl() -> None:
    site = "/opt/venv/lib/python3.12/site-packages"
    found = read(
        text(
            f"/proc/9/maps:{site}/nvidia/nccl/lib/libnccl.so.2\nnccl package: {site}/nvidia_nccl_cu13-2.28.9.dist-info\n"
        )
    )
    assert [x.version for x in found.libraries] == ["2.28.9"]
