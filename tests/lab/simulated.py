"""A practice host's simulator, run in this process on folders of its own."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from qops.lab.sim import entry

SCENARIOS = Path(entry.__file__).parents[2] / "data" / "scenarios"
NAMES = tuple(sorted(path.stem for path in SCENARIOS.glob("*.yaml")))
RECORDED = 1796033771  # 2026-11-30 10:16:11 UTC, when the recording's table was printed


def scenario(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((SCENARIOS / f"{name}.yaml").read_text(encoding="utf-8"))
    return loaded


@dataclass(frozen=True)
class Answer:
    status: int
    out: str
    err: str

    @property
    def rows(self) -> list[str]:
        return self.out.splitlines()


@dataclass(frozen=True)
class Host:
    """One simulated host below `folder`."""

    folder: Path
    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]

    @property
    def root(self) -> Path:
        return self.folder / "var" / "root"

    def become(self, name: str, host: str = "") -> Host:
        loaded = scenario(name)
        hardware = {**loaded["hardware"], "host": host or loaded["hosts"][0]["name"]}
        for part in ("etc", "var", "system", "proc"):
            (self.folder / part).mkdir(exist_ok=True)
        (self.folder / "etc" / "hardware.json").write_text(json.dumps(hardware), encoding="utf-8")
        return self

    def plant(self, **faults: dict[str, Any]) -> None:
        entries = {name.replace("_", "-"): value for name, value in faults.items()}
        (self.folder / "etc" / "faults.json").write_text(json.dumps(entries), encoding="utf-8")

    def at(self, now: float) -> None:
        self.monkeypatch.setenv("QOPS_LAB_NOW", str(now))

    def run(self, tool: str, *arguments: str) -> Answer:
        self.capsys.readouterr()
        status = entry.run(tool, arguments)
        captured = self.capsys.readouterr()
        return Answer(status, captured.out, captured.err)

    def smi(self, *arguments: str) -> Answer:
        return self.run("nvidia-smi", *arguments)

    def query(self, fields: str, *arguments: str) -> list[list[str]]:
        answer = self.smi(f"--query-gpu={fields}", "--format=csv,noheader,nounits", *arguments)
        assert answer.status == 0, answer.out
        return [row.split(", ") for row in answer.rows]

    def configure(self, path: str, text: str) -> None:
        target = self.folder / "system" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def read(self, path: str) -> str:
        return (self.root / path.lstrip("/")).read_text(encoding="utf-8").strip()


def make(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Host:
    monkeypatch.setenv("QOPS_LAB_ETC", str(folder / "etc"))
    monkeypatch.setenv("QOPS_LAB_VAR", str(folder / "var"))
    monkeypatch.setenv("QOPS_LAB_SYSTEM", str(folder / "system"))
    monkeypatch.setenv("QOPS_LAB_PROC", str(folder / "proc"))
    monkeypatch.setenv("QOPS_LAB_NOW", str(RECORDED))
    monkeypatch.setenv("QOPS_LAB_AS_ROOT", "1")
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.delenv("QOPS_ROOT", raising=False)
    return Host(folder, monkeypatch, capsys)


@pytest.fixture(name="host")
def simulated_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Host:
    return make(tmp_path, monkeypatch, capsys)
