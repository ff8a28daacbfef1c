from pathlib import Path

import pytest

from qops.lab import mirror


def apt(folder: Path, **files: str) -> Path:
    (folder / "sources.list.d").mkdir()
    for name, text in files.items():
        path = folder / "sources.list" if name == "main" else folder / "sources.list.d" / name.replace("__", ".")
        path.write_text(text)
    return folder


DEB822 = """\
# snapshot
Types: deb
# URIs: http://wrong.example/debian
URIs: http://mirror.example/debian/
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main
"""


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"debian__sources": DEB822}, "http://mirror.example/debian"),
        ({"debian__sources": DEB822.replace("Types: deb\n#", "Types: deb\nEnabled: no\n#")}, ""),
        ({"main": "deb http://one.example/debian bookworm main contrib # a comment\n"}, "http://one.example/debian"),
        ({"main": "deb [signed-by=/a b=c] https://two.example/d/ trixie main\n"}, "https://two.example/d"),
        ({"main": "# deb http://no.example/debian bookworm main\n"}, ""),
        ({"main": "deb-src http://no.example/debian bookworm main\n"}, ""),
        ({"vendor__list": "deb https://vendor.example/apt cloud-bookworm main\n"}, ""),
        ({"v__sources": "Types: deb\nURIs: https://v.example/x\nSuites: none\nComponents: main\n"}, ""),
        ({"main": "deb http://archive.example/ubuntu noble main\n"}, ""),
        ({"main": "deb mirror+file:/etc/apt/mirrors bookworm main\n"}, ""),
        ({}, ""),
    ],
)  # fmt: skip
def test_takes_the_mirror_that_apt_uses(tmp_path: Path, files: dict[str, str], expected: str):
    assert mirror.debian(apt(tmp_path, **files)) == expected
