import pytest
from elf_files import library

from qops.probes.elf import CompatNote, compat_note, is_elf, nccl_version, note_from_json


@pytest.mark.parametrize("bits", [64, 32])
@pytest.mark.parametrize("order", ["<", ">"])
def test_note_of_every_kind_of_file(bits: int, order: str) -> None:
    assert compat_note(library(bits=bits, order=order)) == CompatNote("13.0", (535, 550, 570, 575))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x7fELF",
        b"MZ" + bytes(100),
        library(note=b"{not json"),
        library(note=b"[1]"),
        library(note=b'{"driver":"535"}'),
        library(owner=b"GNU"),
        library()[:-200],
        library().replace(b"fwd", b"bwd"),
    ],
)
def test_no_note(data: bytes) -> None:
    assert compat_note(data) is None


def test_every_cut_and_every_changed_byte_is_survived() -> None:
    whole = library()
    for length in range(len(whole)):
        compat_note(whole[:length])
    for at in range(len(whole)):
        for value in (0, 1, 0x7F, 0xFF):
            compat_note(whole[:at] + bytes((value,)) + whole[at + 1 :])


def test_note_from_its_text_alone() -> None:
    assert note_from_json('x {"CUDA Version":"12.9","Driver":[535, 550, true, -3, "a"]} y') == CompatNote(
        "12.9", (535, 550)
    )
    assert note_from_json('{"driver":[' + "9" * 5000 + "]}") is None
    assert note_from_json("{}") is None


def test_nccl_says_its_version() -> None:
    assert is_elf(library())
    assert nccl_version(b"\0\0NCCL version 2.28.9+cuda13.0\0") == "2.28.9"
    assert nccl_version(b"NCCL version %d.%d") == ""
