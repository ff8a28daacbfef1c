"""A job over two practice hosts: its rank on one of them is stopped, and a diagnosis of both names host and rank."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from practice_lab import Qops, practice, why_not

pytestmark = [
    pytest.mark.lab,
    pytest.mark.slow,
    pytest.mark.skipif(bool(why_not()), reason=why_not() or "-"),
]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Qops]:
    with practice(tmp_path_factory.mktemp("state"), "pair", "spark-pair") as lab:
        yield lab


def diagnosed(lab: Qops, folder: Path) -> dict[str, Any]:
    inventory = folder / "lab.yml"
    inventory.write_text(lab("inventory"))
    done = subprocess.run(
        [sys.executable, "-m", "qops", "diagnose", "nccl", "-i", inventory, "--seconds", "40", "--format", "json"],
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    report: dict[str, Any] = json.loads(done.stdout)
    assert [host["host"] for host in report["hosts"]] == ["spark-2", "spark-3"], done.stderr
    return report


def causes(report: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        (host["host"], finding["cause"])
        for host in report["hosts"]
        for finding in host["findings"]
        if finding["role"] == "cause" and finding["severity"] != "info"
    ]


def test_the_hang_of_a_job_has_one_cause_on_the_host_whose_rank_is_stopped(pair: Qops, tmp_path: Path) -> None:
    assert "rank-stopped planted" in pair("break", "rank-stopped", "spark-3")
    assert "was planted already" in pair("break", "rank-stopped", "spark-3")
    report = diagnosed(pair, tmp_path)
    (job,) = report["jobs"]
    assert (job["hosts"], job["verdict"], job["reason"]) == (
        ["spark-2", "spark-3"],
        "fault",
        "rank-stopped on spark-3",
    )
    root = job["findings"][0]
    assert root["host"] == "spark-3"
    assert root["finding"]["subject"].startswith("rank 1 (pid ")
    assert causes(report) == [("spark-3", "rank-stopped")]
    assert all(host["clock"]["within"] > 0 for host in report["hosts"])

    assert "rank-stopped mended" in pair("mend", "spark-3")
    after = diagnosed(pair, tmp_path)
    assert (after["jobs"], causes(after)) == ([], [])
