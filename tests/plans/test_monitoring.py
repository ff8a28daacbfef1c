"""The plan of the role monitoring."""

import json
from datetime import date

import pytest

from qops.derive.derived import Derived
from qops.derive.hardware_class import HardwareClass
from qops.errors import UsageError
from qops.plans.base import Plan
from qops.plans.monitoring import PLAN


def _plan(**chosen: object) -> Plan:
    return PLAN.make({}, Derived(HardwareClass.UNKNOWN, ""), {**PLAN.defaults, **PLAN.also, **chosen})


def test_nothing_is_wanted_until_there_are_wheels() -> None:
    plan = _plan()
    assert plan.facts["wanted"] is False and "script/wheels" in str(plan.settings[0])
    assert plan.notes == () and not plan.differs  # a run of the whole site says nothing of it
    assert _plan(wheels="wheels").facts["wanted"] is True


def test_metrics_make_their_folder_writable_and_nothing_else() -> None:
    assert _plan().facts["writable"] == ["/var/lib/qops/watch"]
    facts = _plan(prometheus="/var/lib/prometheus/node-exporter/qops.prom").facts
    assert facts["writable"] == ["/var/lib/qops/watch", "/var/lib/prometheus/node-exporter"]
    assert "--prometheus /var/lib/prometheus/node-exporter/qops.prom" in facts["arguments"]


def test_alerts_are_placed_without_wheels_too() -> None:
    facts = _plan(alerts="/etc/prometheus/rules/qops-alerts.yml").facts
    assert (facts["wanted"], facts["alerts"]) == (False, "/etc/prometheus/rules/qops-alerts.yml")
    assert _plan().facts["alerts"] == ""


def test_the_suppressions_of_the_inventory_go_to_the_host() -> None:
    entry = {"code": "HST009", "reason": 'a "reason"', "until": date(2027, 1, 31)}
    assert json.loads(_plan(qops_suppress=[entry]).facts["suppress"]) == [entry | {"until": "2027-01-31"}]
    assert json.loads(_plan(qops_suppress=None).facts["suppress"]) == []


@pytest.mark.parametrize(
    "chosen",
    [
        {"interval": 10},
        {"interval": "often"},
        {"interval": True},
        {"size": 0},
        {"processor": 101},
        {"prometheus": "qops.prom"},
        {"prometheus": "/var/lib/x/qops.txt"},
        {"prometheus": "/var/lib/../../etc/x.prom"},
        {"prometheus": "/var/lib/a b/x.prom"},
        {"alerts": "qops-alerts.yml"},
        {"alerts": "/etc/prometheus/rules/"},
        {"alerts": "/etc/../etc/qops-alerts.yml"},
    ],
)
def test_what_cannot_be_is_refused(chosen: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=f"monitoring_{next(iter(chosen))}"):
        _plan(**chosen)
