"""`script/read-engine-flags` from an index to the file, with wheels of a few lines."""

import io
import threading
import zipfile
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

import msgspec
import pytest
from wheel_index import Index

from qops.data.engines import Engine
from qops.wheels import __main__ as program

PARSER = """
def make_arg_parser(parser):
    parser.add_argument("--trays", type=int, default=4)
    parser.add_argument("--tool-call-parser", type=str)
"""
FILES = {
    "vllm/entrypoints/cli_args.py": PARSER,
    "vllm/envs.py": 'environment_variables = {"VLLM_BAKER": lambda: 1}\n',
    "vllm/tool_parsers/__init__.py": '_TOOL_PARSERS_TO_REGISTER = {"pretzel": ("a", "B")}\n',
}


def _wheel() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in FILES.items():
            archive.writestr(name, text)
    return made.getvalue()


class _Index(Index):
    names = ("vllm-98.0-py3-none-any.whl", "vllm-99.0-py3-none-any.whl", "sglang-0.1-py3-none-any.whl")
    wheel = _wheel()


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Index)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_port}/simple")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(program, "_DATA", tmp_path)
    yield tmp_path
    server.shutdown()
    server.server_close()


def _run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["read-engine-flags", *arguments])
    return program.main()


def test_all_releases_are_read_and_written(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    assert _run(monkeypatch, "--engine", "vllm", "--all") == 0
    written = msgspec.json.decode((folder / "vllm.json").read_bytes(), type=Engine)
    assert written.versions == ("98.0", "99.0")
    assert {name: states[0].default for name, states in written.options.items()} == {
        "--tool-call-parser": "",
        "--trays": "4",
    }
    assert list(written.variables) == ["VLLM_BAKER"]


def test_a_new_release_that_was_not_read_rightly_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(monkeypatch, "--engine", "vllm") == 1
    assert "error: vllm 98.0:0: 2 options after" in capsys.readouterr().err
    assert list(folder.iterdir()) == []


def test_nothing_new_is_said(monkeypatch: pytest.MonkeyPatch, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(monkeypatch, "--engine", "sglang") == 0
    assert capsys.readouterr().err.startswith("sglang: nothing newer than 0.5.")
