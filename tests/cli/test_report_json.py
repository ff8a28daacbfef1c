"""The JSON report is what its published schema says."""

import json
from pathlib import Path

import msgspec
from click.testing import CliRunner

from qops.cli.group import qops
from qops.render.document import Document

ROOT = Path(__file__).parent.parent.parent
CASE = ROOT / "tests/hosts/h200x2/cases/deadlock2"


def _report(*arguments: str) -> str:
    return CliRunner().invoke(qops, ["diagnose", "--from", str(CASE), "--format", "json", *arguments]).stdout


def test_a_report_reads_back_as_the_type_that_makes_the_schema() -> None:
    document = msgspec.json.decode(_report(), type=Document)
    assert (document.schema, document.summary.fault, document.summary.exit_status) == (1, 1, 1)
    assert document.hosts[0].root is not None


def test_its_keys_are_those_that_scripts_rely_on() -> None:
    host = json.loads(_report())["hosts"][0]
    assert {"host", "collected", "verdict", "findings", "ruled_out", "coverage"} <= set(host)
    finding = host["findings"][0]
    wanted = {"code", "cause", "role", "severity", "confidence", "subject", "message", "evidence", "explains", "fix"}
    assert wanted | {"runbook"} <= set(finding)
    assert set(finding["evidence"][0]) == {"source", "line", "text"}


def test_the_published_schema_names_them_too() -> None:
    published = json.loads((ROOT / "docs/report.schema.json").read_text())
    assert {"HostReport", "Finding", "Quote", "Coverage"} <= set(published["$defs"])
