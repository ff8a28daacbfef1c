import json

import pytest

from qops.errors import UsageError
from qops.lab import scenario

GOOD = """\
name: two
about: Two hosts.
class: rtxpro
hosts:
  - {name: a-1, base: debian12, docker: true}
  - {name: a-2, base: debian13, docker: false}
hardware:
  gpus: [{model: x}]
"""


def test_reads_a_scenario():
    read = scenario.parse(GOOD, "two.yaml", "two")
    assert (read.name, read.about, read.hardware_class) == ("two", "Two hosts.", "rtxpro")
    assert read.hosts == (
        scenario.ScenarioHost("a-1", "debian12", True, packages=True, registry=True),
        scenario.ScenarioHost("a-2", "debian13", False),
    )
    assert read.hardware == {"gpus": [{"model": "x"}]}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("class: rtxpro", "class: rtx", "two.yaml:3: class is 'rtx': use one of spark, rtxpro, rtx5090, hgx"),
        ("name: two", "name: Two", "two.yaml:1: name is 'Two': use lower-case"),
        ("base: debian13", "base: debian11", "two.yaml:6: base is 'debian11': use one of debian12, debian13"),
        ("docker: false", "docker: maybe", "two.yaml:6: docker must be true or false"),
        (", docker: false", "", "two.yaml:6: docker is missing from an entry of hosts"),
        ("a-2", "a-1", "two.yaml:4: hosts two hosts have one name"),
        ("about:", "abuot:", "two.yaml:2: abuot is not a key of the scenario"),
        ("  gpus: [{model: x}]", "  [", "two.yaml:9: not YAML"),
        ("hardware:\n  gpus: [{model: x}]\n", "", "two.yaml:1: hardware is missing from the scenario"),
    ],
)
def test_says_where_a_scenario_is_wrong(old: str, new: str, message: str):
    with pytest.raises(UsageError) as caught:
        scenario.parse(GOOD.replace(old, new), "two.yaml", "two")
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("text", ["", "- a\n", "hosts: 3\n"])
def test_what_is_no_scenario_is_a_usage_error(text: str):
    with pytest.raises(UsageError):
        scenario.parse(text, "x.yaml", "x")


def test_an_unknown_scenario_names_the_known():
    with pytest.raises(UsageError, match="there is no scenario nope") as caught:
        scenario.load("nope")
    assert "qops lab list" in caught.value.hint


def test_the_scenarios_of_qops_are_whole_and_share_no_host_name():
    hosts: list[str] = []
    for name in scenario.names():
        read = scenario.load(name)
        assert read.name == name
        assert read.about.endswith(".")
        json.dumps(read.hardware)
        hosts += [host.name for host in read.hosts]
    assert len(set(hosts)) == len(hosts)
