"""A folder that a host sends: the reader finds in it what it finds in the folder itself."""

import gzip
import os
import subprocess
from pathlib import Path

import model_folders as made
import pytest

from qops.contents import far_folder
from qops.contents.checkpoint import DOCUMENT, HEADER, here, read
from qops.errors import EvidenceError
from qops.evidence.checkpoint import Checkpoint


def answer(folder: Path, document: int = DOCUMENT, header: int = HEADER) -> bytes:
    """Run the script as a host runs it."""
    ask = far_folder.question(str(folder), document, header)
    return subprocess.run(ask.argv, capture_output=True, check=True).stdout


def sent(folder: Path) -> Checkpoint:
    return read(far_folder.Sent(str(folder), answer(folder)))


def test_it_is_read_as_the_folder_itself(tmp_path: Path) -> None:
    layers = made.nvfp4("model.layers.0.mlp.down_proj") | made.plain("lm_head")
    made.folder(tmp_path, layers, files=3, separate={"quant_algo": "NVFP4", "exclude_modules": ["lm_head"]})
    (tmp_path / "below").mkdir()
    (tmp_path / "-n odd name.txt").write_text("x")
    assert sent(tmp_path) == here(str(tmp_path))
    (tmp_path / "config.json").write_text("{")
    (tmp_path / "model-00001-of-00003.safetensors").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    (tmp_path / "model-00002-of-00003.safetensors").write_bytes(b"\xff" * 100)
    (tmp_path / "model-00003-of-00003.safetensors").unlink()
    (tmp_path / "model-00003-of-00003.safetensors").symlink_to("nowhere")
    assert sent(tmp_path) == here(str(tmp_path))
    assert len(sent(tmp_path).broken) == 3


def test_no_weight_is_sent(tmp_path: Path) -> None:
    made.folder(tmp_path)
    file = tmp_path / "model-00001-of-00001.safetensors"
    header = file.read_bytes()
    file.write_bytes(header + os.urandom(8 << 20))
    assert len(answer(tmp_path)) < 10_000


def test_what_is_larger_than_a_host_is_asked_for_is_said(tmp_path: Path) -> None:
    made.folder(tmp_path)
    found = read(far_folder.Sent("m", answer(tmp_path, document=10, header=10)))
    assert {wrong.name for wrong in found.problems} >= {"config.json", "tokenizer_config.json"}
    assert "more of it would be needed" in found.problems[0].why
    assert "more of it would be needed" in found.broken[0].why


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_said(tmp_path: Path) -> None:
    made.folder(tmp_path)
    (tmp_path / "config.json").chmod(0)
    assert sent(tmp_path) == here(str(tmp_path))


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config.json")
    for found in (sent(tmp_path), here(str(tmp_path))):
        assert found.problems[0].name == "config.json" and "cannot be read" in found.problems[0].why


def test_no_folder_ends_with_its_reason(tmp_path: Path) -> None:
    ask = far_folder.question(str(tmp_path / "none"), 1, 1)
    done = subprocess.run(ask.argv, capture_output=True, check=False)
    assert done.returncode and b"none" in done.stderr and not done.stdout


# With names of their own: gzip writes the second in which it packs, and workers must find the same tests.
@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"no gzip", id="no gzip"),
        pytest.param(gzip.compress(b""), id="nothing packed"),
        pytest.param(gzip.compress(b"file 5 5 a\nhello"), id="no end"),
        pytest.param(gzip.compress(b"file 5 900 a\nhelloend\n"), id="less than told"),
        pytest.param(gzip.compress(b"file 5 5 ../a\nhelloend\n"), id="a name that leads out"),
        pytest.param(gzip.compress(b"file 99999999999999999999 0 a\nend\n"), id="a size without bound"),
        pytest.param(gzip.compress(b"end\n")[:-4], id="cut gzip"),
    ],
)
def test_a_damaged_answer_is_no_folder(data: bytes) -> None:
    with pytest.raises(EvidenceError, match="damaged or cut short"):
        far_folder.Sent("m", data)


def test_an_answer_that_unpacks_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(far_folder, "MOST", 1000)
    with pytest.raises(EvidenceError, match="documents and headers"):
        far_folder.Sent("m", gzip.compress(b"x" * 100_000))


def test_names_bring_no_control_characters() -> None:
    names = far_folder.Sent("m", gzip.compress(b"file 0 0 a\x1b[31mb\nend\n")).names()
    assert names == ("ab",)
