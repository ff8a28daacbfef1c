"""Reading a wheel by ranges, from an index on loopback."""

import io
import threading
import zipfile
from collections.abc import Iterator
from http.server import ThreadingHTTPServer

import pytest
from wheel_index import Index

from qops.errors import UsageError
from qops.wheels import index
from qops.wheels.archive import Remote

FILES = {"bread/a.py": "a = 1\n" * 500, "bread/big.bin": "", "bread/ü.py": "text = 'ü'\n", "bread/last.py": "z = 26\n"}


def _wheel() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in FILES.items():
            method = zipfile.ZIP_STORED if name.endswith(".bin") else zipfile.ZIP_DEFLATED
            archive.writestr(name, b"\x00" * 3_000_000 if name.endswith(".bin") else text, method)
    return made.getvalue()


WHEEL = _wheel()
NAMES = [
    "bread-1.0-py3-none-any.whl", "bread-1.10-cp39-abi3-manylinux_2_28_aarch64.whl", "bread-1.9.tar.gz",
    "bread-1.10-cp39-abi3-manylinux_2_28_x86_64.whl", "bread-1.9-py3-none-any.whl", "bread-2.0rc1-py3-none-any.whl",
]  # fmt: skip


class _Index(Index):
    names = NAMES
    wheel = WHEEL


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Index)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_port}/simple")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_the_index_is_pips_and_gives_one_wheel_a_release(address: str) -> None:
    assert index.address() == f"{address}/simple"
    found = index.wheels("bread", index.tls())
    assert list(found) == ["1.0", "1.9", "1.10"]
    assert found["1.10"].url == f"{address}/files/bread-1.10-cp39-abi3-manylinux_2_28_x86_64.whl"


def test_only_the_files_that_are_asked_for_are_fetched(address: str) -> None:
    _Index.sent = 0
    remote = Remote(index.Wheel("1.0", f"{address}/files/bread.whl"), index.tls())
    assert sorted(remote.names()) == ["bread/a.py", "bread/last.py", "bread/ü.py"]
    remote.want(["bread/a.py", "bread/last.py"])
    assert {name: remote.text(name) for name in ("bread/a.py", "bread/last.py", "bread/ü.py")} == {
        name: FILES[name] for name in ("bread/a.py", "bread/last.py", "bread/ü.py")
    }
    assert remote.read == _Index.sent < len(WHEEL) / 2
    with pytest.raises(KeyError):
        remote.text("bread/none.py")


def test_what_the_server_says_is_told(address: str) -> None:
    with pytest.raises(UsageError, match="404"):
        index.wheels("cake", index.tls())
