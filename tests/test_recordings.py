"""Recordings of real machines, through the real command line: each must get its right answer."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from qops.cli.group import qops
from qops.engine import judge, observe
from qops.evidence.nccl import Ras
from qops.recording import recorded
from qops.rules import LISTED

HOSTS = Path(__file__).parent / "hosts"
H200X2 = HOSTS / "h200x2"
EXPECTED = json.loads((H200X2 / "expected.json").read_text())


def _diagnose(*paths: Path) -> tuple[dict, int]:  # type: ignore[type-arg]
    arguments = [word for path in paths for word in ("--from", str(path))]
    done = CliRunner().invoke(qops, ["diagnose", "all", "--format", "json", *arguments], standalone_mode=False)
    assert done.exception is None, done.exception
    return json.loads(done.stdout)["hosts"][0], done.return_value


@pytest.mark.parametrize("case", sorted(EXPECTED))
def test_a_case_of_the_h200_pair(case: str) -> None:
    want = EXPECTED[case]
    host, status = _diagnose(H200X2 / "host", H200X2 / "cases" / case)
    causes = [f for f in host["findings"] if f["role"] == "cause" and f["severity"] != "info"]
    assert host["verdict"] == want["verdict"], host["reason"]
    assert [f["cause"] for f in causes[:1]] == ([want["cause"]] if "cause" in want else [])
    assert status == (1 if want["verdict"] == "fault" else 0)
    notes = {f["cause"]: f for f in host["findings"] if f["severity"] == "info"}
    for name in want.get("notes", []):
        assert name in notes
    if "subject" in want:
        named = causes[0] if causes else notes[want["notes"][0]]
        assert want["subject"] in named["subject"]


def test_the_machine_at_rest_is_healthy() -> None:
    host, status = _diagnose(H200X2 / "host")
    assert (host["verdict"], status) == ("healthy", 0)


@pytest.mark.parametrize("path", sorted(HOSTS.glob("live*.tar.gz")), ids=lambda p: p.name)
def test_a_bundle_recorded_live(path: Path) -> None:
    want = json.loads(path.with_name(path.name.removesuffix(".tar.gz") + ".json").read_text())
    host, _ = _diagnose(path)
    root = next((f for f in host["findings"] if f["role"] == "cause" and f["severity"] != "info"), None)
    assert (host["verdict"], root["cause"] if root else "") == (want["verdict"], want["cause"])
    assert want["subject"] in (root["subject"] if root else "")


@pytest.mark.parametrize("name", ["live2-slow", "live2-missing"])
def test_without_nccls_ras_a_late_rank_and_a_missing_one_are_not_told_apart(name: str) -> None:
    (one,) = recorded([str(HOSTS / f"{name}.tar.gz")])
    evidence = observe(one.texts, one.gaps)
    del evidence[Ras]
    report = judge("host", "", evidence, LISTED)
    assert (report.verdict, report.findings[0].cause) == ("undetermined", "collective-hang")
    told = next(f for f in report.findings if f.cause == "rank-missing-from-collective")
    assert "rank 1" in told.subject and "py-spy dump" in told.message
