"""On another host: which commands run here, and what a diagnosis says of the finding."""

from pathlib import Path

import pytest

from qops.cli.following import Verdict, verdict
from qops.rules import ALL
from qops.runbook.incident import Done
from qops.runbook.page import parse
from qops.runbook.walking import Where, commands
from qops.transports.local import Local

RULE = next(rule for rule in ALL if rule.code == "HST061")


@pytest.mark.parametrize(
    ("written", "run"),
    [
        ("sudo qops diagnose host --select X", "qops diagnose -i 'my lab.yml' -l {host} host --select X"),
        ("qops diagnose --from a.tar.gz", "qops diagnose --from a.tar.gz"),
        ("ansible-playbook site.yml --limit HOST", "ansible-playbook -i 'my lab.yml' site.yml --limit gpu-1"),
    ],
)
def test_commands_of_qops_and_ansible_name_the_host_of_the_inventory(written: str, run: str) -> None:
    (step,) = parse("it", "host", f"## Diagnosis\n\n```bash\n{written}\n```\n").steps
    here = Local()
    assert step.here
    assert commands(step, Where(here, here, "my lab.yml"), {"HOST": "gpu-1"}) == run.format(host=here.name)


@pytest.mark.parametrize(
    ("said", "means"),
    [
        ("warning   HST061 swappiness-too-high   likely\ncoverage     1 of 1 rules had the evidence", Verdict.FOUND),
        ("coverage     1 of 1 rules had the evidence they need", Verdict.GONE),
        ("coverage     0 of 1 rules had the evidence they need", Verdict.UNKNOWN),
        ("error: no host", Verdict.UNKNOWN),
    ],
)
def test_a_look_without_evidence_never_says_that_it_has_gone(tmp_path: Path, said: str, means: Verdict) -> None:
    (tmp_path / "a.txt").write_text(said)
    done = Done(1, "Verification", "", "done", "", file="a.txt", status=3)
    assert verdict(RULE, done, tmp_path) is means
