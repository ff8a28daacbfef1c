"""inference_service with the real engine on a practice host: from no service to an answer, and what it keeps to itself.

What ends a service is in test_endings_live.py.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from serving import ENVIRONMENT, SECRET, Serving, engine_lab, instance

pytestmark = [pytest.mark.lab, pytest.mark.slow]


@pytest.fixture(scope="module", name="serving")
def host_with_an_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with engine_lab(tmp_path_factory.mktemp("state"), "vllm", "h200x2") as lab:
        yield Serving(lab)


def test_check_mode_on_a_bare_host_changes_nothing(serving: Serving, tmp_path: Path) -> None:
    status, output, changed = serving.play(tmp_path, "--check")
    assert status == 0, output[-3000:]
    assert changed > 0 and "ExecStart=/opt/vllm/bin/vllm serve" in output
    assert serving.on("ls /etc/qops/serve 2>&1 || true").endswith("No such file or directory")


def test_from_no_service_to_an_answer_and_the_second_run_changes_nothing(serving: Serving, tmp_path: Path) -> None:
    status, output, changed = serving.play(tmp_path)
    assert status == 0, output[-3000:]
    assert changed > 0 and "tiny: ready: tiny on port 8010 gave a token" in output
    answer = serving.ask()
    assert answer.endswith("200")
    assert json.loads(answer[:-3])["usage"]["completion_tokens"] > 0
    status, output, changed = serving.play(tmp_path)
    assert (status, changed) == (0, 0), output[-3000:]


def test_the_secret_is_nowhere_but_with_root(serving: Serving) -> None:
    pattern = SECRET[:-1] + "[t]"  # so that no grep finds itself
    found = serving.on(f"grep -rl '{pattern}' /etc /usr/local /var/lib/qops /run/qops || true").splitlines()
    assert sorted(found) == ["/etc/qops/serve/tiny.secret", "/run/qops/serve/tiny/secret"]
    assert serving.on(f"stat -c %a {' '.join(found)}").split() == ["600", "600"]
    assert serving.on(f"journalctl --no-pager | grep -c '{pattern}' || true") == "0"
    assert serving.on(f"cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c '{pattern}' || true") == "0"
    assert serving.on(f"systemctl show qops-serve-tiny | grep -c '{pattern}' || true") == "0"


def test_a_change_waits_until_a_restart_is_allowed(serving: Serving, tmp_path: Path) -> None:
    other = instance(environment={**ENVIRONMENT, "OMP_NUM_THREADS": "2"})
    before = serving.state()["InvocationID"]
    status, output, changed = serving.play(tmp_path, inference_service_instances=[other])
    assert (status, changed) == (0, 0), output[-3000:]
    assert "service tiny runs with other environment than the inventory says" in output
    assert serving.state()["InvocationID"] == before


def test_a_start_that_took_the_machine_down_is_not_repeated(serving: Serving) -> None:
    serving.on("systemctl stop qops-serve-tiny; echo 11111111-2222 >/var/lib/qops/serve/tiny/starting")
    serving.on("systemctl start qops-serve-tiny; sleep 12")  # longer than RestartSec
    assert serving.state()["ActiveState"] == "inactive"
    assert serving.ready()["state"] == "held"
    serving.on("qops-serve-start allow tiny")
    assert serving.ready()["state"] == "ready"
