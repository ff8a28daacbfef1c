"""The alerts for Prometheus: they fire on what they should, and lead to pages that exist."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from qops.rule import Rule
from qops.rules import ALL

ROOT = Path(__file__).parent.parent
RULES = ROOT / "monitoring/qops-alerts.yml"
ALERTS = [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


@pytest.mark.skipif(shutil.which("promtool") is None, reason="no promtool; to run this: apt-get install prometheus")
@pytest.mark.parametrize("arguments", [("check", "rules", RULES.name), ("test", "rules", "qops-alerts.test.yml")])
def test_promtool_says_that_they_fire_as_they_should(arguments: tuple[str, ...]) -> None:
    done = subprocess.run(["promtool", *arguments], cwd=RULES.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert["alert"])
def test_each_leads_to_a_page_and_says_whether_it_wakes_somebody(alert: dict[str, dict[str, str]]) -> None:
    assert alert["labels"]["severity"] in ("page", "ticket")
    page = alert["annotations"]["runbook_url"].removeprefix("{{ $externalLabels.runbooks }}/")
    if "$labels.cause" in page:  # made of the finding's labels; the names of pages are checked with the rules
        assert re.sub(r"\s+", " ", page).endswith("{{ $labels.code }}-{{ $labels.cause }}.md")
    else:
        assert (ROOT / "runbooks" / page).is_file()


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.code)
def test_the_page_that_is_made_of_a_findings_labels_is_that_of_its_rule(rule: Rule) -> None:
    """The alert makes the folder of the code's letters: those must be where the page is."""
    url = next(one["annotations"]["runbook_url"] for one in ALERTS if one["alert"] == "QopsFault")
    folders = dict(re.findall(r'match "\^(\w+)" \$labels\.code \}\}(\w+)\{', re.sub(r"\s+\}\}", " }}", url)))
    (other,) = re.findall(r"else \}\}(\w+)\{\{ end", url)
    page = f"runbooks/{folders.get(rule.code[:3], other)}/{rule.code}-{rule.cause}.md"
    assert page == rule.runbook
    assert (ROOT / page).is_file()


def test_each_is_tested_on_series() -> None:
    tests = yaml.safe_load((RULES.parent / "qops-alerts.test.yml").read_text())["tests"]
    fired = {one["alertname"] for test in tests for one in test["alert_rule_test"] if one.get("exp_alerts")}
    assert fired == {alert["alert"] for alert in ALERTS}
