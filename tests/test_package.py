"""The package as it is installed: sdist to wheel, and what is inside."""

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent


def _build(kind: str, folder: Path, out: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(out)]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return next(iter(out.iterdir()))


def test_a_wheel_made_from_the_sdist_has_all_that_runs_need(tmp_path: Path) -> None:
    sdist = _build("sdist", ROOT, tmp_path / "sdist")
    (tmp_path / "src").mkdir()
    subprocess.run(["tar", "-xzf", str(sdist), "-C", str(tmp_path / "src")], check=True)
    unpacked = next(iter((tmp_path / "src").iterdir()))
    with zipfile.ZipFile(_build("wheel", unpacked, tmp_path / "wheel")) as wheel:
        names = set(wheel.namelist())
    pages = {f"qops/runbooks/{p.relative_to(ROOT / 'runbooks')}" for p in (ROOT / "runbooks").rglob("*.md")}
    source = {
        f"qops/{p.relative_to(ROOT / 'src/qops')}"
        for p in (ROOT / "src/qops").rglob("*")
        if p.is_file() and "__pycache__" not in p.parts
    }
    assert pages - names == set()
    assert "qops/monitoring/qops-alerts.yml" in names
    assert source - names == set()
    assert [n for n in names if n.startswith(("tests", "script"))] == []
