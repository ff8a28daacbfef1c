"""site.yml on every scenario of the lab: check mode on a bare host, converge, a second run without a change, verify.

Ten minutes, so only when asked: QOPS_EVERY_SCENARIO=1. test_site_live.py has two of them in every run.
"""

import os
import re

import pytest
from playing import ansible_playbook
from practice_lab import practice

from qops.lab import scenario

pytestmark = [
    pytest.mark.lab,
    pytest.mark.slow,
    pytest.mark.skipif(
        "QOPS_EVERY_SCENARIO" not in os.environ, reason="takes ten minutes; QOPS_EVERY_SCENARIO=1 runs it"
    ),
]
NAMES = sorted(path.stem for path in scenario.folder().glob("*.yaml"))


@pytest.mark.parametrize("name", NAMES)
def test_a_scenario_goes_from_bare_to_verified(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    with practice(tmp_path_factory.mktemp("state"), "every", name) as lab:

        def play(*options: str) -> tuple[str, set[str]]:
            status, output = ansible_playbook("site.yml", "-l", "lab", *options, env=lab.environment, timeout=600)
            assert status == 0, f"{options}\n{output[-8000:]}"
            return output, set(re.findall(r"changed=(\d+)", output))

        play("--check", "--diff")
        play()
        output, changed = play()
        assert changed == {"0"}, output[-8000:]
        assert "Judge the host by what its roles promise" in output
