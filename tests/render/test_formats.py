"""SARIF, JUnit, Prometheus and Nagios: read back by parsers of their own, and right in what they say."""

import json
from xml.etree import ElementTree

import pytest
from prometheus_client.parser import text_string_to_metric_families
from reports import ENDED, HOSTILE, SUPPRESSED, finding, host
from sarif_schema import against_the_standard

from qops.evidence.text import Quote
from qops.render import junit, nagios, prometheus, sarif
from qops.report import HostReport, JobFinding, JobReport, Verdict
from qops.rule import Role, Severity

HEALTHY = host(name="gpu-02", verdict=Verdict.HEALTHY, reason="it serves")
UNREACHABLE = host(name="gpu-03", verdict=Verdict.UNREACHABLE, reason="no route to host")


def test_sarif_is_valid_by_the_schema_of_the_standard() -> None:
    shared = JobReport(("gpu-01", "gpu-02"), "tie", Verdict.FAULT, "", (JobFinding("", finding()),))
    hostile = [finding(message=HOSTILE, subject=HOSTILE, evidence=(Quote(f"/a b/{HOSTILE}", 3, HOSTILE),))]
    loose = [finding(evidence=(Quote("worker 0.log", 0, ""), Quote("worker~0.log", 0, "x")))]
    for hosts in ([], [HEALTHY, UNREACHABLE], [host(*hostile, name=HOSTILE)], [host(*loose)]):
        assert against_the_standard(sarif.report(hosts, [shared])) == []
    marked = sarif.report([host(finding(suppressed=SUPPRESSED), finding(suppressed=ENDED))])
    assert against_the_standard(marked) == []
    # The schema is one that can say no.
    assert against_the_standard(marked.replace('"accepted"', '"forgiven"')) != []
    assert against_the_standard(marked.replace('"startLine": 3', '"startLine": 0')) != []


def test_sarif_has_the_file_and_the_line_of_the_evidence_and_not_the_name_of_a_command() -> None:
    run = json.loads(sarif.report([host(finding())]))["runs"][0]
    (result,) = run["results"]
    place = result["locations"][0]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "file:///etc/qops/my.env"
    assert place["physicalLocation"]["region"] == {"startLine": 3, "snippet": {"text": "A=<1>"}}
    assert place["logicalLocations"][0]["name"] == "gpu-01"
    assert (result["ruleId"], result["level"]) == ("NCL002", "error")
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "NCL002"


def test_sarif_says_when_the_verdict_on_a_host_is_not_clear() -> None:
    (result,) = json.loads(sarif.report([UNREACHABLE]))["runs"][0]["results"]
    assert (result["ruleId"], result["message"]["text"]) == ("unreachable", "no route to host")
    assert json.loads(sarif.report([HEALTHY]))["runs"][0]["results"] == []


def test_sarif_has_what_only_all_hosts_of_a_job_show() -> None:
    job = JobReport(
        ("gpu-01", "gpu-02"), "tie", Verdict.FAULT, "", (JobFinding("", finding()), JobFinding("gpu-01", finding()))
    )
    (result,) = json.loads(sarif.report([HEALTHY], [job]))["runs"][0]["results"]
    assert result["locations"][0]["logicalLocations"][0]["name"] == "gpu-01, gpu-02"


def test_sarif_marks_what_is_suppressed_and_takes_the_mark_back_when_its_time_is_over() -> None:
    first, second = json.loads(sarif.report([host(finding(suppressed=SUPPRESSED), finding(suppressed=ENDED))]))["runs"][
        0
    ]["results"]
    assert first["suppressions"][0]["status"] == "accepted"
    assert "the board is on order" in first["suppressions"][0]["justification"]
    assert second["suppressions"][0]["status"] == "rejected"


def test_junit_counts_what_it_holds_and_survives_what_xml_cannot_hold() -> None:
    cases = [finding(message=HOSTILE + "\x00\ufffe"), finding("NCL005", suppressed=SUPPRESSED)]
    cases.append(finding("HST801", severity=Severity.INFO, role=Role.INFO))
    suite = ElementTree.fromstring(junit.report([host(*cases)]))[0]
    counted = {key: int(suite.get(key, "")) for key in ("tests", "failures", "errors", "skipped")}
    assert counted == {"tests": 7, "failures": 2, "errors": 0, "skipped": 3}
    message = suite.findall(".//failure")[1].get("message") or ""
    assert "<script>" in message and "\x1b" not in message and "\u202e" not in message
    assert any("the board is on order" in (one.get("message") or "") for one in suite.iter("skipped"))


def test_junit_has_an_error_for_a_host_that_nobody_reached() -> None:
    suite = ElementTree.fromstring(junit.report([UNREACHABLE]))[0]
    assert [one.get("message") for one in suite.iter("error")] == ["unreachable: no route to host"]


def test_prometheus_reads_every_metric_and_no_label_holds_what_changes_from_look_to_look() -> None:
    shown = prometheus.report([host(finding(), finding(subject="rank 2 (pid 43, GPU 2)")), HEALTHY])
    families = {family.name: family for family in text_string_to_metric_families(shown)}
    assert all(name.startswith("qops_") and family.documentation for name, family in families.items())
    verdicts = {(s.labels["host"], s.labels["verdict"]): s.value for s in families["qops_verdict"].samples}
    assert verdicts["gpu-01", "fault"] == 1 and verdicts["gpu-02", "fault"] == 0 and verdicts["gpu-02", "healthy"] == 1
    (same,) = families["qops_findings"].samples
    assert same.value == 2 and "pid" not in shown
    assert families["qops_collected_timestamp_seconds"].samples[0].value == 1796032800


def test_prometheus_takes_a_name_with_everything_that_needs_an_escape() -> None:
    name = 'a"b\\c\nd'
    families = list(text_string_to_metric_families(prometheus.report([host(name=name)])))
    assert any(s.labels.get("host") == name for family in families for s in family.samples)


@pytest.mark.parametrize("collected", ["", "yesterday", "2026-11-30T10:00:00", "9" * 400])
def test_prometheus_says_no_time_where_none_is_known(collected: str) -> None:
    from msgspec.structs import replace

    assert "timestamp" not in prometheus.report([replace(HEALTHY, collected=collected)])


@pytest.mark.parametrize(
    ("hosts", "status"),
    [
        ([HEALTHY], 0),
        ([host(finding(role=Role.CONTRIBUTING, severity=Severity.WARNING), verdict=Verdict.HEALTHY)], 1),
        ([HEALTHY, host(finding()), UNREACHABLE], 2),
        ([HEALTHY, UNREACHABLE], 3),
        ([], 3),
        ([host(finding(suppressed=SUPPRESSED), verdict=Verdict.HEALTHY)], 0),
        ([host(finding(suppressed=ENDED))], 2),
    ],
)
def test_nagios_has_its_own_statuses(hosts: list[HostReport], status: int) -> None:
    assert nagios.status(hosts) == status
    word = ("OK", "WARNING", "CRITICAL", "UNKNOWN")[status]
    assert nagios.report(hosts).startswith(f"QOPS {word} - ")


def test_nagios_gets_one_line_with_one_bar_whatever_a_host_says() -> None:
    shown = nagios.report([host(finding(), name="gpu|1", reason=HOSTILE)])
    assert shown.count("\n") == 1 and shown.count("|") == 1 and "\x1b" not in shown
    figures = dict(pair.split("=") for pair in shown.split("|")[1].split())
    assert figures["hosts"] == figures["fault"] == "1"


def test_nagios_is_told_how_many_are_suppressed() -> None:
    shown = nagios.report([host(finding(suppressed=SUPPRESSED), verdict=Verdict.HEALTHY)])
    assert "findings=0 suppressed=1" in shown
