"""The alerts in a real Prometheus: it scrapes what `qops` wrote by node_exporter, and the alerts fire with their pages."""

import contextlib
import json
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from loopback import free_port

ROOT = Path(__file__).parent.parent
PAGES = "https://git.example.com/qops/runbooks"
# Of a job in which rank 1 was stopped, recorded while it hung.
BUNDLE = ROOT / "tests/hosts/live2-stopped.tar.gz"
PROGRAMS = ("prometheus", "prometheus-node-exporter")
LIMIT = 60.0  # seconds: a start takes two, and a scrape one

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not all(shutil.which(program) for program in PROGRAMS),
        reason=f"to run this: apt-get install {' '.join(PROGRAMS)}",
    ),
]


@contextlib.contextmanager
def _running(*words: str, log: Path) -> Iterator[None]:
    with log.open("wb") as file:
        process = subprocess.Popen(words, stdout=file, stderr=file)
        try:
            yield
        finally:
            process.kill()
            process.wait(timeout=30)


def _alerts(port: int) -> dict[str, dict[str, Any]]:
    """Return the alerts that fire, by name; none while Prometheus does not answer yet."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/alerts", timeout=5) as answer:
            told = json.load(answer)["data"]["alerts"]
    except OSError:
        return {}
    return {one["labels"]["alertname"]: one for one in told if one["state"] == "firing"}


def test_what_qops_writes_fires_the_alert_and_leads_to_the_page_of_its_cause(tmp_path: Path) -> None:
    qops = [sys.executable, "-m", "qops"]
    where = subprocess.run([*qops, "watch", "alerts"], check=True, capture_output=True, text=True).stdout.strip()
    # As it is but for the wait, which would be this test's: 5 minutes until it fires.
    rules = yaml.safe_load(Path(where).read_text(encoding="utf-8"))
    for group in rules["groups"]:
        for rule in group["rules"]:
            rule["for"] = "2s"
    (tmp_path / "alerts.yml").write_text(yaml.safe_dump(rules))
    (tmp_path / "textfile").mkdir()
    metrics = tmp_path / "textfile/qops.prom"
    judged = [*qops, "diagnose", "--from", str(BUNDLE), "--format", "prometheus", "-o", str(metrics), "--exit-zero"]
    subprocess.run(judged, check=True)
    web, exporter, engine = free_port(), free_port(), free_port()
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s", "external_labels": {"runbooks": PAGES}},
        "rule_files": ["alerts.yml"],
        "scrape_configs": [
            # qops names the host; the exporter's label would only say where it was scraped.
            {"job_name": "node", "static_configs": [{"targets": [f"127.0.0.1:{exporter}"]}]},
            {"job_name": "vllm", "static_configs": [{"targets": [f"127.0.0.1:{engine}"]}]},  # nobody listens there
        ],
    }
    (tmp_path / "prometheus.yml").write_text(yaml.safe_dump(config))
    node = (
        *("prometheus-node-exporter", "--collector.disable-defaults", "--collector.textfile"),
        *(f"--collector.textfile.directory={metrics.parent}", f"--web.listen-address=127.0.0.1:{exporter}"),
    )
    server = (
        *("prometheus", f"--config.file={tmp_path / 'prometheus.yml'}", f"--storage.tsdb.path={tmp_path / 'data'}"),
        f"--web.listen-address=127.0.0.1:{web}",
    )
    with _running(*node, log=tmp_path / "node.log"), _running(*server, log=tmp_path / "prometheus.log"):
        until = time.monotonic() + LIMIT
        while not {"QopsFault", "EngineDown"} <= set(fired := _alerts(web)) and time.monotonic() < until:
            time.sleep(0.5)
    assert {"QopsFault", "EngineDown"} <= set(fired), (tmp_path / "prometheus.log").read_text()[-2000:]
    for name, page in (("QopsFault", "nccl/NCL002-rank-stopped.md"), ("EngineDown", "symptoms/died.md")):
        assert fired[name]["annotations"]["runbook_url"] == f"{PAGES}/{page}"
        assert (ROOT / "runbooks" / page).is_file()
    assert fired["QopsFault"]["labels"]["cause"] == "rank-stopped"
