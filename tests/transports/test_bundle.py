import gzip
import io
import itertools
import json
import stat
import struct
import tarfile
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from qops import probes
from qops.errors import BundleError
from qops.probes.scan import finder
from qops.transports import archive, bundle_writer, loose
from qops.transports.answer import Answer, Collection, collection, interpret
from qops.transports.base import Completed

FIND = finder(probes.literals())
ANSWERS = (
    Answer(
        "nvidia-smi -L",
        Completed(b"GPU 0: NVIDIA H200\n", b"", 0, 0.1),
        argv=("nvidia-smi", "-L"),
        probe="smi",
        number=0,
    ),
    Answer("x", Completed(b"a\n", b"bad\n", 2, 0.1), argv=("x",), probe="p", number=2),
    Answer("/proc/cmdline", Completed(b"quiet\n", b"", 0, 0.0), path="/proc/cmdline", probe="kernel", number=1),
    Answer("smi", Completed(b"1, 2\n", b"", 0, 0.2), argv=("smi",), probe="s", at=5.013, number=3),
    Answer("nvidia-smi", Completed(b"half", b"", None, 10.0, "timeout"), argv=("nvidia-smi",), probe="smi", number=4),
    Answer("dmesg", Completed(b"", b"dmesg: Operation not permitted\n", 1, 0.0), argv=("dmesg",), probe="k", number=5),
    Answer(
        "/lib/libcuda.so",
        Completed(b"\x7fELF\0hf_" + b"A" * 20, b"", 0, 0.0),
        path="/lib/libcuda.so",
        binary=True,
        number=6,
    ),
    Answer(
        "big",
        Completed(b"a plain line of a long log, nothing in it\n" * 420_000, b"", 0, 0.0, "", 17),
        argv=("big",),
        number=7,
    ),
)


@pytest.fixture
def written(tmp_path: Path) -> Path:
    with bundle_writer.Writer(tmp_path / "b.tar.gz", "node1", collected_at="2026-11-30T10:00:00+00:00") as writer:
        for answer in ANSWERS:
            writer.add(answer)
    return tmp_path / "b.tar.gz"


def read(path: Path | str) -> Collection:
    (found,) = loose.read([str(path)], FIND)
    return found


def test_a_replay_equals_what_was_recorded(written: Path) -> None:
    answers = sorted(ANSWERS, key=lambda answer: answer.number)
    found = (interpret(answer, FIND) for answer in answers)
    live = collection(found, host="node1", collected_at="2026-11-30T10:00:00+00:00")
    assert read(written) == live
    assert [gap.kind for gap in live.gaps] == ["timeout", "denied", "unreadable"]
    assert [text.lines for text in live.texts[:3]] == [("GPU 0: NVIDIA H200",), ("quiet",), ("a", "bad")]


def test_a_bundle_is_private_and_complete_or_not_there(tmp_path: Path, written: Path) -> None:
    assert stat.S_IMODE(written.stat().st_mode) == 0o600
    for error in (KeyboardInterrupt, ValueError):
        with pytest.raises(error), bundle_writer.Writer(tmp_path / "other.tar.gz", "h") as writer:
            writer.add(ANSWERS[0])
            raise error
    assert [path.name for path in tmp_path.iterdir()] == ["b.tar.gz"]


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="cannot write"), bundle_writer.Writer(tmp_path / "none" / "b.tar.gz", "h"):
        pass


def test_secrets_are_not_written(tmp_path: Path) -> None:
    token = b"hf_" + b"A1" * 15
    with bundle_writer.Writer(tmp_path / "b.tar.gz", "h") as writer:
        writer.add(Answer("env", Completed(b"HF_TOKEN=" + token, token, 0, 0.0), argv=("env", token.decode())))
    assert sum(writer.replaced.values()) == 3
    with tarfile.open(tmp_path / "b.tar.gz") as tar:
        for member in tar:
            file = tar.extractfile(member)
            assert file is not None and token not in file.read()


def test_an_interrupted_collection_says_so_again(tmp_path: Path) -> None:
    with bundle_writer.Writer(tmp_path / "b.tar.gz", "h") as writer:
        writer.interrupted = True
    assert read(tmp_path / "b.tar.gz").interrupted


def repack(written: Path, to: Path, how: str) -> Path:
    with tarfile.open(written) as tar:
        files = {member.name: tar.extractfile(member).read() for member in tar}  # type: ignore[union-attr]
    if how == "folder":
        for name, data in files.items():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            (to / name).write_bytes(data)
        return to
    if how == "zip":
        with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as packed:
            for name, data in files.items():
                packed.writestr(name, data)
        return to
    with tarfile.open(to, how) as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(f"./some/{name}" if how == "w:xz" else name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return to


@pytest.mark.parametrize("how", ["folder", "zip", "w", "w:xz", "w:bz2"])
def test_other_packings_are_read_too(written: Path, tmp_path: Path, how: str) -> None:
    assert read(repack(written, tmp_path / "again", how)) == read(written)


def test_a_bundle_comes_through_a_pipe(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        buffer = io.BytesIO(written.read_bytes())

    monkeypatch.setattr("sys.stdin", Stdin)
    assert read("-") == read(written)


# ---- hostile bundles

INDEX: dict[str, Any] = {"format": 1, "qops": "1", "host": "h", "collected": "", "answers": []}


def tar_of(*members: tuple[tarfile.TarInfo, bytes], index: bytes = json.dumps(INDEX).encode()) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as tar:
        for info, content in ((named("index.json"), index), *members):
            info.size = info.size or len(content)
            tar.addfile(info, io.BytesIO(content))
    return data.getvalue()


def named(name: str, kind: bytes = tarfile.REGTYPE) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type = kind
    info.linkname = "/etc/passwd" if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE) else ""
    return info


def index_with(**changes: object) -> bytes:
    return json.dumps({**INDEX, **changes}).encode()


def entry(**changes: object) -> bytes:
    return index_with(answers=[{"source": "s", **changes}])


def bad_sum() -> bytes:
    raw = bytearray(gzip.decompress(tar_of()))
    raw[0] ^= 1
    return bytes(raw)


def huge_header() -> bytes:
    raw = io.BytesIO()
    header = named("x", b"L")
    header.size = 400 << 20
    raw.write(header.tobuf())
    return raw.getvalue()


def sparse() -> bytes:
    header = named("x", tarfile.GNUTYPE_SPARSE)
    return header.tobuf() + bytes(1024)


def negative_size() -> bytes:
    header = bytearray(named("x").tobuf())
    header[124:136] = b"\xff" * 12
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + bytes(1024)


def zip_of(name: str, mode: int = 0o100644, data: bytes = b"x") -> bytes:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("index.json", json.dumps(INDEX))
        info = zipfile.ZipInfo(name)
        info.external_attr = mode << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        packed.writestr(info, data)
    return raw.getvalue()


def zip_with_a_huge_directory() -> bytes:
    raw = bytearray(zip_of("a"))
    at = raw.rfind(b"PK\x05\x06")
    struct.pack_into("<I", raw, at + 12, 1 << 30)
    return bytes(raw)


HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "traversal": (lambda: tar_of((named("../../etc/cron.d/x"), b"x")), "unsafe name"),
    "traversal inside": (lambda: tar_of((named("a/../../x"), b"x")), "unsafe name"),
    "absolute": (lambda: tar_of((named("/etc/passwd"), b"x")), "unsafe name"),
    "symbolic link": (lambda: tar_of((named("a", tarfile.SYMTYPE), b"")), "holds a link"),
    "hard link": (lambda: tar_of((named("a", tarfile.LNKTYPE), b"")), "holds a link"),
    "character device": (lambda: tar_of((named("a", tarfile.CHRTYPE), b"")), "holds a device"),
    "block device": (lambda: tar_of((named("a", tarfile.BLKTYPE), b"")), "holds a device"),
    "pipe": (lambda: tar_of((named("a", tarfile.FIFOTYPE), b"")), "holds a pipe"),
    "holes": (sparse, "holes"),
    "twice": (lambda: tar_of((named("a"), b"1"), (named("./a"), b"2")), "twice"),
    "bad sum": (bad_sum, "damaged"),
    "negative size": (negative_size, "damaged"),
    "cut": (lambda: tar_of((named("a"), bytes(range(256)) * 900))[:-300], "ends early"),
    "huge header": (huge_header, "which no file needs"),
    "too many": (lambda: tar_of(*((named(f"f{n}"), b"") for n in range(10_001))), "more than 10000 files"),
    "bomb": (lambda: tar_of((named("a"), bytes(100 << 20))), "times its size"),
    "index is no JSON": (lambda: tar_of(index=b"{"), "is not a bundle"),
    "index is a list": (lambda: tar_of(index=b"[]"), "is not a bundle"),
    "index is no text": (lambda: tar_of(index=b'{"format": 1, "host": "\xff"}'), "is not a bundle"),
    "index too deep": (lambda: tar_of(index=b'{"x":' + b"[" * 200_000), "is not a bundle"),
    "index too large": (lambda: tar_of(index=b" " * (9 << 20)), "index of more than"),
    "wrong type": (lambda: tar_of(index=index_with(answers={"a": 1})), "is not a bundle"),
    "wrong type within": (lambda: tar_of(index=entry(status="0")), "is not a bundle"),
    "huge number": (lambda: tar_of(index=entry(status=10**30)), "is not a bundle"),
    "missing file": (lambda: tar_of(index=entry(file="answers/1")), "is in its index and not in it"),
    "index leads out": (lambda: tar_of(index=entry(file="../../etc/passwd")), "unsafe name"),
    "newer format": (lambda: tar_of(index=index_with(format=2)), "has format 2"),
    "zip traversal": (lambda: zip_of("../x"), "unsafe name"),
    "zip link": (lambda: zip_of("a", 0o120777), "link"),
    "zip directory": (zip_with_a_huge_directory, "more than 10000 files"),
    "zip cut": (lambda: zip_of("a", data=bytes(9999))[:-30], "damaged"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_bundle_is_refused_in_one_sentence(name: str, tmp_path: Path) -> None:
    make, reason = HOSTILE[name]
    path = tmp_path / "b.tar.gz"
    path.write_bytes(make())
    with pytest.raises(BundleError, match=reason) as caught:
        read(path)
    assert "\n" not in caught.value.message
    assert len(caught.value.message) < 400
    assert [p.name for p in tmp_path.iterdir()] == ["b.tar.gz"]


def test_ten_million_files_are_not_counted_to_the_end() -> None:
    header = named("f").tobuf()
    served = 0

    def endless() -> Iterator[bytes]:
        nonlocal served
        for _ in range(10_000_000):
            served += 1
            yield header

    with pytest.raises(BundleError, match="more than 10000 files"):
        archive._unique(((f"f{n}", b"") for n, _ in enumerate(archive._tar(archive._Stream(endless(), "b"), "b"))), "b")
    assert served < 10_100


def test_too_much_in_all_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(archive, "UNPACKED", 1 << 20)
    noise = bytes(itertools.islice(itertools.cycle(range(251)), 600_000))
    (tmp_path / "b").write_bytes(tar_of((named("a"), noise), (named("b"), noise)))
    with pytest.raises(BundleError, match="unpacks to more than 1 MiB"):
        read(tmp_path / "b")
    (tmp_path / "b").write_bytes(zip_of("a", data=noise * 2))
    with pytest.raises(BundleError, match="unpacks to more than 1 MiB"):
        read(tmp_path / "b")


def test_a_folder_whose_files_are_links_out_of_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "secret").write_text("s")
    (tmp_path / "b/index.json").write_bytes(entry(file="a"))
    (tmp_path / "b/a").symlink_to(tmp_path / "secret")
    with pytest.raises(BundleError, match="leads out of it"):
        read(tmp_path / "b")


def test_control_characters_do_not_come_through(tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(
        tar_of(index=index_with(host="h\x1b[2J\nx", answers=[{"source": "\x9b31m\x07s", "failure": "odd"}]))
    )
    found = read(tmp_path / "b")
    assert found.host == "h x"
    assert found.gaps[0].source.isprintable()
    assert found.gaps[0].kind == "failed"


def test_every_cut_and_every_changed_byte_is_a_bundle_or_refused(tmp_path: Path) -> None:
    raw = tar_of((named("answers/1"), b"hello\n"), index=entry(file="answers/1", argv=["x"]))
    plain = gzip.decompress(raw)
    path = tmp_path / "b"
    begun = time.monotonic()
    for data in (raw, plain):
        for at in range(0, len(data), 7):
            for changed in (data[:at], data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :]):
                path.write_bytes(changed)
                try:
                    loose.read([str(path)], FIND)
                except BundleError as error:
                    assert "\n" not in error.message
    assert time.monotonic() - begun < 60
