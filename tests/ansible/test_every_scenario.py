"""site.yml on every scenario of the lab: check mode on a bare host, converge, a second run without a change, verify.

Ten minutes, so only when asked: QOPS_EVERY_SCENARIO=1. test_site_live.py has two of them in every run.
"""

import os
import re
import subprocess
import uuid

import pytest
from playing import BIN, ROOT
from practice_lab import Qops

from qops.errors import QopsError
from qops.lab import scenario
from qops.lab.docker import Docker

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
    try:
        Docker().require()
    except QopsError as error:
        pytest.skip(f"{error.message}; to run this: {error.hint}")
    lab = Qops(tmp_path_factory.mktemp("state"), f"every-{uuid.uuid4().hex[:8]}")

    def play(*options: str) -> tuple[str, set[str]]:
        done = subprocess.run(
            [str(BIN / "ansible-playbook"), "site.yml", "-l", "lab", *options],
            cwd=ROOT,
            env={**os.environ, **lab.environment, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        assert done.returncode == 0, f"{options}\n{done.stdout[-8000:]}{done.stderr[-2000:]}"
        return done.stdout, set(re.findall(r"changed=(\d+)", done.stdout))

    try:
        lab("up", name)
        play("--check", "--diff")
        play()
        output, changed = play()
        assert changed == {"0"}, output[-8000:]
        assert "Judge the host by what its roles promise" in output
    finally:
        lab("down")
