import bz2
import gzip
import io
import json
import lzma
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from qops import probes
from qops.errors import UsageError
from qops.evidence.text import Gap, Text
from qops.probes.scan import finder
from qops.transports import bundle_writer, loose
from qops.transports.answer import Answer, Collection
from qops.transports.base import Completed

FIND = finder(probes.literals())


def read(*paths: Path | str) -> Collection:
    (found,) = loose.read([str(path) for path in paths], FIND)
    return found


def by_source(found: Collection) -> dict[str, Text]:
    return {text.source: text for text in found.texts}


def test_a_folder_is_read_with_relative_names(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "job.log").write_text("one\ntwo\n")
    (tmp_path / "a/b/dmesg.txt").write_text("[  1.2] x\n")
    found = read(tmp_path)
    assert [(t.source, t.lines) for t in found.texts] == [
        ("a/b/dmesg.txt", ("[  1.2] x",)),
        ("job.log", ("one", "two")),
    ]
    assert found.gaps == () and found.host == ""


def test_several_paths_and_the_same_name_twice(tmp_path: Path) -> None:
    for name in ("x", "y"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "job.log").write_text(name)
    assert set(by_source(read(tmp_path / "x", tmp_path / "y"))) == {"job.log", "y/job.log"}


def test_what_must_not_be_followed_or_opened(tmp_path: Path) -> None:
    top = tmp_path / "top"
    top.mkdir()
    (tmp_path / "secret").write_text("s")
    (top / "job.log").write_text("x")
    (top / "again.log").symlink_to(top / "job.log")
    (top / "out.log").symlink_to(tmp_path / "secret")
    (top / "circle").symlink_to(top / "circle")
    (top / "up").symlink_to(tmp_path)
    os.mkfifo(top / "pipe")
    found = read(top)
    assert set(by_source(found)) == {"job.log"}
    assert {gap.source: gap.kind for gap in found.gaps} == dict.fromkeys(("out.log", "circle", "up", "pipe"), "skipped")


def test_counts_and_depth_have_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loose, "FILES", 3)
    monkeypatch.setattr(loose, "DEPTH", 1)
    (tmp_path / "d/e/f").mkdir(parents=True)
    for n in range(5):
        (tmp_path / f"z{n}").write_text("x")
    found = read(tmp_path)
    assert len(found.texts) == 3
    assert sorted(gap.reason.split(" ")[0] for gap in found.gaps) == ["more", "more"]


def zst(data: bytes) -> bytes:
    return subprocess.run(["zstd", "-qc"], input=data, capture_output=True, check=True).stdout


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress, zst])
def test_packed_logs_are_unpacked(tmp_path: Path, pack: object) -> None:
    if pack is zst and shutil.which("zstd") is None:
        pytest.skip("no zstd here")
    data = b"NCCL INFO line\n" * 1000
    (tmp_path / "job.log.packed").write_bytes(pack(data))  # type: ignore[operator]
    (text,) = read(tmp_path / "job.log.packed").texts
    assert text.source == "job.log.packed" and len(text.lines) == 1000


def test_a_packed_log_that_is_cut_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    data = "".join(f"line {n} {n * n}\n" for n in range(50_000)).encode()
    (tmp_path / "a.gz").write_bytes(gzip.compress(data)[:-5000])
    found = read(tmp_path / "a.gz")
    assert found.texts[0].lines[0] == "line 0 0" and len(found.texts[0].lines) > 1000
    assert [(gap.kind, gap.reason) for gap in found.gaps] == [("unreadable", "a.gz ends early")]


def test_a_packed_bomb_stops(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(bytes(200 << 20), 9))
    (gap,) = read(tmp_path / "a.gz").gaps
    assert "times its size" in gap.reason


def test_docker_logs_are_unwrapped_line_by_line(tmp_path: Path) -> None:
    lines = [
        json.dumps({"log": f"rank {n} a -> b\n", "stream": "stderr", "time": "t"}).replace(">", "\\u003e")
        for n in range(3)
    ]
    (tmp_path / "c-json.log").write_text("\n".join([*lines, '{"log":"cut']) + "\n")
    (text,) = read(tmp_path).texts
    assert text.lines == ("rank 0 a -> b", "rank 1 a -> b", "rank 2 a -> b", '{"log":"cut')


def test_binary_files(tmp_path: Path) -> None:
    dump = b"\x80\x04\x95" + bytes(range(256))
    (tmp_path / "rank0.pkl").write_bytes(dump)
    (tmp_path / "libcuda.so.1").write_bytes(b"\x7fELF" + bytes(100))
    (tmp_path / "photo.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(32)))
    (tmp_path / "w.safetensors").write_bytes((300).to_bytes(8, "little") + b'{"__metadata__":{}}')
    found = read(tmp_path)
    assert by_source(found)["rank0.pkl"].data == dump
    assert by_source(found)["libcuda.so.1"].data.startswith(b"\x7fELF")
    assert {(gap.source, gap.kind) for gap in found.gaps} == {("photo.png", "skipped"), ("w.safetensors", "skipped")}


def test_texts_with_zero_bytes(tmp_path: Path) -> None:
    (tmp_path / "environ").write_bytes(b"HOME=/root\0NCCL_DEBUG=INFO\0")
    (tmp_path / "cut.log").write_bytes(bytes(9000) + b"NCCL WARN x\n")
    (tmp_path / "windows.txt").write_bytes("GPU 0\r\nGPU 1\r\n".encode("utf-16"))
    texts = by_source(read(tmp_path))
    assert texts["environ"].lines == ("HOME=/root", "NCCL_DEBUG=INFO")
    assert texts["cut.log"].lines == ("NCCL WARN x",)
    assert texts["windows.txt"].lines == ("GPU 0", "GPU 1")


def test_a_large_file_is_reduced(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_bytes(b"start\n" + b"nothing of use\n" * 1_500_000 + b"end\n")
    (text,) = read(tmp_path).texts
    assert text.size > 16 << 20 and text.last_line == "end"
    assert text.number(len(text.lines) - 1) == 1_500_002


def test_standard_input_and_a_pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        buffer = io.BytesIO(b"pasted\n")

    monkeypatch.setattr("sys.stdin", Stdin)
    assert read("-").texts == (Text("stdin", ("pasted",)),)
    reader, writer = os.pipe()
    os.write(writer, b"piped\n")
    os.close(writer)
    assert read(f"/dev/fd/{reader}").texts[0].lines == ("piped",)
    os.close(reader)


def test_what_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        read(tmp_path / "none")
    with pytest.raises(UsageError, match="device"):
        read("/dev/null")


def _bundle(path: Path, host: str) -> None:
    with bundle_writer.Writer(path, host) as writer:
        writer.add(Answer("uname", Completed(host.encode(), b"", 0, 0.0), argv=("uname",), probe="k"))


def test_bundles_of_several_hosts_stay_apart_and_logs_join_the_only_host(tmp_path: Path) -> None:
    for host in ("n1", "n2"):
        _bundle(tmp_path / f"{host}.tar.gz", host)
    assert [c.host for c in loose.read([str(tmp_path)], FIND)] == ["n1", "n2"]
    (tmp_path / "n2.tar.gz").unlink()
    (tmp_path / "job.log").write_text("x")
    found = read(tmp_path)
    assert found.host == "n1" and [text.source for text in found.texts] == ["uname", "job.log"]


def test_a_bad_archive_in_a_folder_is_a_gap(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "bad.tar", "w") as tar:
        info = tarfile.TarInfo("../x")
        tar.addfile(info)
    (tmp_path / "job.log").write_text("x")
    found = read(tmp_path)
    assert found.gaps[0] == Gap("bad.tar", "bad.tar holds a file with an unsafe name: ../x", "unreadable")
    assert len(found.texts) == 1


def test_a_plain_archive_of_logs(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/job.log").write_text("x")
    with tarfile.open(tmp_path / "logs.tgz", "w:gz") as tar:
        tar.add(tmp_path / "logs", "logs")
    assert by_source(read(tmp_path / "logs.tgz"))["logs/job.log"].lines == ("x",)
