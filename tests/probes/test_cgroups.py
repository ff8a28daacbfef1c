import subprocess

from hypothesis import given
from hypothesis import strategies as st
from judging import text

from qops.evidence.process import Cgroup
from qops.probes.cgroups import PROBE, SCRIPT, parse

TWO = """== cgroup of pid 41: /system.slice/vllm.service
memory.max 34359738368
memory.current 30064771072
oom_kill 2
== cgroup of pid 42: /docker/0a1b
memory.limit_in_bytes 9223372036854771712
memory.usage_in_bytes 1048576
oom_kill 0
"""


def test_both_versions_are_read() -> None:
    found = parse([text(TWO)])
    assert found is not None
    first, second = found.cgroups
    assert (first.pid, first.limit, first.used, first.oom_kills) == (41, 32 << 30, 28 << 30, 2)
    assert first.quote.text == "oom_kill 2"
    assert (second.path, second.limit, second.oom_kills) == ("/docker/0a1b", -1, 0)


def test_other_text_is_not_claimed() -> None:
    other = text("memory.max 5\noom_kill 1\n")
    assert not PROBE.recognise(other)
    assert parse([other]) is None


def test_the_script_runs_under_a_plain_shell() -> None:
    done = subprocess.run(["sh", "-c", SCRIPT], capture_output=True, text=True, timeout=20, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@given(st.text(alphabet="== cgroup of pid 0123456789:/max memory.oom_kill\n", max_size=400))
def test_any_text_is_read(content: str) -> None:
    found = parse([text(content)])
    assert found is None or all(isinstance(c, Cgroup) for c in found.cgroups)
