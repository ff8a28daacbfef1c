"""Each fault of the lab, from the alert or the symptom to its runbook or role, and until it is not found any more.

Two faults are taken always; all of them with QOPS_EVERY_FAULT=1, which takes half an hour, and those of the engine with
QOPS_LAB_ENGINE=1 as well. QOPS_RECORD_FIXES=1 writes the times into docs/measurements.md.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from measured import Table
from practice_lab import Qops, desk, practice

from qops import runbook
from qops.lab import faults
from qops.rules import ALL

ROOT = Path(__file__).parent.parent.parent
PAGES = "https://git.example.com/qops/runbooks"
TABLE = Table(
    "fixes", "tests/lab/test_fault_to_fix_live.py", ("fault", "seen by", "mended by", "named", "mended", "all"), 1
)
LOOK = ("--seconds", "60")  # at most: a look ends when all have answered, and busy cores answer late
LOOKS = 4  # until the host has answered what is asked
HEAD_START = 900  # seconds: the engine's faults start it, and a role may build a driver


@dataclass(frozen=True, slots=True)
class Way:
    """How one gets from a fault to its end. `symptom` is the page that one begins with; "" where an alert fires."""

    scenario: str
    symptom: str = ""
    sets: tuple[str, ...] = ()  # what a person would fill in
    role: bool = False  # mended by `qops fix`, and not by the commands of the page


def _unit(old: str, new: str) -> tuple[str, ...]:
    return ("unit=vllm.service", f"old={old}", f"new={new}")


WAYS = {
    "container-lost-gpu-cgroup": Way("rtx5090", sets=("name=gpu-job",)),
    "container-toolkit-missing": Way("rtx5090", role=True),
    "cuda-compat-lib-shadows-driver": Way("rtx5090", "died"),
    "driver-library-version-mismatch": Way("rtx5090"),
    "gpu-fell-off-bus": Way("rtx5090"),
    "kernel-upgrade-no-module": Way("rtx5090", role=True),
    "power-cap-below-need": Way("rtx5090", "answers-slowly", role=True),
    "shm-too-small": Way("rtx5090", "hangs-at-start"),
    "thermal-throttle": Way("rtx5090", "answers-slowly", ("gpu=0", "watts=450")),
    "gpu-memory-ecc-hardware": Way("rtxpro4", sets=("gpu=0",)),
    "p2p-slow-acs-redirect": Way("rtxpro8", "answers-slowly", role=True),
    "fabric-manager-not-running": Way("hgx8"),
    "engine-bad-flag": Way("h200x2", sets=_unit("--enable-prefix-cacheing", "--enable-prefix-caching")),
    "engine-model-not-found": Way("h200x2", sets=_unit("/srv/models/tiny-qwen3-v2", "/opt/vllm/models/tiny-qwen3")),
    "kv-cache-too-small": Way("h200x2", sets=_unit("MAX_MODEL_LEN=262144", "MAX_MODEL_LEN=4096")),
    "port-in-use": Way("h200x2", sets=("unit=vllm.service", "port=8000")),
    "rank-stopped": Way("h200x2"),
}
ENGINE = {"port-in-use", *(fault.cause for fault in faults.ALL if fault.engine)}
CHEAP = ("container-lost-gpu-cgroup", "thermal-throttle")
CODES = {rule.cause: rule.code for rule in ALL}


def _taken(cause: str) -> Any:
    every = os.environ.get("QOPS_EVERY_FAULT") == "1"
    engine = os.environ.get("QOPS_LAB_ENGINE") == "1"
    why = "" if every or cause in CHEAP else "takes a minute or two: QOPS_EVERY_FAULT=1"
    if not why and cause in ENGINE and not engine:
        why = "takes the real engine, ten minutes and 8 GB the first time: QOPS_LAB_ENGINE=1"
    return pytest.param(cause, marks=[pytest.mark.skipif(bool(why), reason=why)])


def test_every_fault_of_the_lab_has_a_way() -> None:
    assert set(WAYS) == {fault.cause for fault in faults.ALL}
    for cause, way in WAYS.items():
        if way.symptom:
            text = (runbook.folder() / "symptoms" / f"{way.symptom}.md").read_text(encoding="utf-8")
            assert f"{CODES[cause]}-{cause}.md" in text, f"{way.symptom} does not lead to {cause}"


class Shift:
    """Whoever is on call for one practice host: what they run, as a process of its own, beside the playbooks."""

    def __init__(self, lab: Qops, host: str, folder: Path) -> None:
        self.lab, self.host, self.folder = lab, host, folder
        self.desk = desk(folder / "desk")
        self.inventory = folder / "lab.yml"
        self.inventory.write_text(lab("inventory"))

    def run(self, *words: str, statuses: tuple[int, ...] = (0,)) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "qops", *words],
            cwd=self.desk,
            env={**self.lab.environment, "NO_COLOR": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=HEAD_START,
            check=False,
        )
        assert done.returncode in statuses, f"{' '.join(words)}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def there(self) -> tuple[str, ...]:
        return ("-i", str(self.inventory), "-l", self.host)

    def look(self, name: str, enough: Callable[[dict[str, Any]], bool]) -> tuple[Path, dict[str, Any]]:
        """Collect the host's evidence and judge it; return the bundle and the report.

        On a busy machine a host is not reached in time, or nvidia-smi does not answer: then one looks again, until it
        is `enough`, or often enough.
        """
        bundle = self.folder / f"{name}.tar.gz"
        host: dict[str, Any] = {}
        for _ in range(LOOKS):
            bundle.unlink(missing_ok=True)
            self.run("collect", *self.there(), *LOOK, "-o", str(bundle), "-q", statuses=(0, 3, 4))
            if not bundle.exists():
                continue
            said = self.run("diagnose", "--from", str(bundle), "--format", "json", statuses=(0, 1, 3))
            (host,) = json.loads(said)["hosts"]
            if enough(host):
                break
        return bundle, host

    def alerts(self, bundle: Path) -> list[dict[str, Any]]:
        """Return the alerts that Prometheus would raise on what `qops` writes of a bundle, as promtool expects them."""
        text = self.run("diagnose", "--from", str(bundle), "--format", "prometheus", statuses=(0, 1, 3))
        series = re.findall(r"^(qops_(?:findings|verdict)\{.*\}) ([\d.e+]+)$", text, re.M)
        fired = []
        for labels, value in series:
            given = dict(re.findall(r'(\w+)="([^"]*)"', labels))
            if given.get("role") == "cause" and given["severity"] == "error" and float(value) > 0:
                shown = {name: given[name] for name in ("host", "code", "cause")}
                family = next(rule.family for rule in ALL if rule.code == given["code"])
                page = f"{PAGES}/{family}/{given['code']}-{given['cause']}.md"
                summary = f"{given['host']}: {given['cause']}"
                fired.append(
                    {
                        "exp_labels": {"severity": "page", **shown},
                        "exp_annotations": {"summary": summary, "runbook_url": page},
                    }
                )
        test = {
            "rule_files": [str(ROOT / "monitoring/qops-alerts.yml")],
            "tests": [
                {
                    "interval": "1m",
                    "external_labels": {"runbooks": PAGES},
                    "input_series": [{"series": name, "values": f"{value}x20"} for name, value in series],
                    "alert_rule_test": [{"eval_time": "10m", "alertname": "QopsFault", "exp_alerts": fired}],
                }
            ],
        }
        file = self.folder / "alerts.test.yml"
        file.write_text(yaml.safe_dump(test))
        done = subprocess.run(["promtool", "test", "rules", str(file)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return fired

    def symptom(self, page: str, code: str) -> None:
        """Follow a symptom's page, changing nothing, until one of its answers names the code.

        Its looks take 13 seconds, after which a busy host has not answered all: then one looks again.
        """
        for number in range(LOOKS):
            folder = self.folder / f"{page}{number}"
            self.run("runbook", "run", page, *self.there(), "--read-only", "-o", str(folder), "-q", statuses=(0, 3))
            if any(code in answer.read_text() for answer in (folder / "answers").iterdir()):
                return
        pytest.fail(f"the page {page} did not lead to {code}: {(folder / 'timeline.md').read_text()}")


def _causes(report: dict[str, Any]) -> list[str]:
    return [one["cause"] for one in report["findings"]]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Qops]:
    with practice(tmp_path_factory.mktemp("state"), "fix", "rtx5090") as made:
        yield made


def _patient(lab: Qops, *words: str) -> None:
    process = lab.start(*words)
    out, err = process.communicate(timeout=HEAD_START)
    assert process.returncode == 0, f"{' '.join(words)}\n{out}\n{err}"


@pytest.mark.lab
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("promtool") is None, reason="no promtool; to run this: apt-get install prometheus")
@pytest.mark.parametrize("cause", [_taken(cause) for cause in WAYS])
def test_a_fault_is_seen_named_mended_and_gone(cause: str, lab: Qops, tmp_path: Path) -> None:
    way, code = WAYS[cause], CODES[cause]
    host = f"{way.scenario}-1"
    if cause in ENGINE:
        _patient(lab, "engine", "build")
    lab("up", way.scenario)
    if cause in ENGINE:
        _patient(lab, "engine", "start", host)
    try:
        _patient(lab, "break", cause, host)
        shift = Shift(lab, host, tmp_path)
        begun = time.monotonic()
        bundle, report = shift.look("broken", lambda seen: cause in _causes(seen))
        named = time.monotonic() - begun
        if way.symptom:
            assert cause in _causes(report)
            shift.symptom(way.symptom, code)
        else:
            assert (report["verdict"], report["findings"][0]["cause"]) == ("fault", cause)
            assert cause in [alert["exp_labels"]["cause"] for alert in shift.alerts(bundle)]
        mending = time.monotonic()
        if way.role:
            said = shift.run("fix", host, cause, "-i", str(shift.inventory), "--apply", "--yes", "-q")
            assert f"{cause}: mended" in said
        else:
            sets = [word for one in way.sets for word in ("--set", one)]
            folder = tmp_path / "incident"
            # 3: what the page leaves to a person's hands was not run.
            said = shift.run(
                *("runbook", "run", cause, *shift.there(), "--from", str(bundle), *sets, "-o", str(folder), "--yes"),
                statuses=(0, 3),
            )
            assert f"{cause}: it is not there" in said, said
        mended = time.monotonic() - mending
        _, after = shift.look("mended", lambda seen: code not in seen["coverage"]["unknown"])
        assert cause not in _causes(after)
        assert code not in after["coverage"]["unknown"]
        seconds = (f"{one:.0f}" for one in (named, mended, time.monotonic() - begun))
        if os.environ.get("QOPS_RECORD_FIXES") == "1":
            seen = f"the page {way.symptom}" if way.symptom else "alert QopsFault"
            TABLE.record((f"`{cause}`", seen, "`qops fix`" if way.role else "`qops runbook run`", *seconds))
    finally:
        lab.run("mend", host)
        if cause in ENGINE:
            lab.run("engine", "stop", host)
