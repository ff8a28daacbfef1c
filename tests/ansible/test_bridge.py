import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from playing import HOSTS, facts

from qops import bridge
from qops.engine import observe
from qops.errors import TransportError, UsageError
from qops.evidence.gpu import Gpus
from qops.evidence.kernel import Hugepages, Sysctls
from qops.evidence.text import Gaps
from qops.recording import recorded

RECORDED = Path(__file__).parent.parent / "hosts/h200x2"


def shell(command: str) -> tuple[int, str, str]:
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, check=False)
    return done.returncode, done.stdout.decode(errors="surrogateescape"), done.stderr.decode(errors="surrogateescape")


@pytest.fixture(name="host")
def a_host() -> bridge.AnsibleTransport:
    return bridge.AnsibleTransport("here", shell)


def test_a_command_and_its_outcome(host: bridge.AnsibleTransport) -> None:
    done = host.run(("sh", "-c", "echo 'a  b'; echo wrong >&2; exit 3"), timeout=5)
    assert (done.status, done.stdout, done.stderr, done.failure) == (3, b"a  b\n", b"wrong\n", "")


def test_a_command_that_hangs_is_ended(host: bridge.AnsibleTransport) -> None:
    begun = time.monotonic()
    done = host.run(("sleep", "60"), timeout=1)
    assert done.failure == "timeout"
    assert time.monotonic() - begun < 10


def test_a_status_of_124_at_once_is_no_time_out(host: bridge.AnsibleTransport) -> None:
    assert host.run(("sh", "-c", "exit 124"), timeout=5).status == 124


def test_a_command_gets_no_input(host: bridge.AnsibleTransport) -> None:
    assert host.run(("cat",), timeout=5).stdout == b""


def test_files(host: bridge.AnsibleTransport, tmp_path: Path) -> None:
    odd = tmp_path / "it's odd"
    odd.write_bytes(b"\x80\xff\x00line\n")
    assert host.read(str(odd), timeout=5).stdout == b"\x80\xff\x00line\n"
    assert host.read(str(tmp_path / "none"), timeout=5).failure == "missing"
    assert host.read(str(tmp_path), timeout=5).failure == "failed"


def test_files_below_another_root(
    host: bridge.AnsibleTransport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/version").write_text("Linux version 6.12-practice\n")
    monkeypatch.setenv("QOPS_ROOT", str(tmp_path))
    assert host.read("/proc/version", timeout=5).stdout == b"Linux version 6.12-practice\n"
    assert host.read("/proc/uptime", timeout=5).stdout != b""  # not there: the machine's own


def test_nothing_is_asked_after_stop(host: bridge.AnsibleTransport) -> None:
    host.stop()
    assert host.run(("true",), timeout=5).failure == "timeout"


def test_looking_gives_only_what_was_wanted() -> None:
    found = bridge.look_by_name("here", shell, ["Sysctls", "Hugepages"], seconds=20)
    assert set(found) == {Sysctls, Hugepages, Gaps}
    assert "fs.file-max" in found[Sysctls].values


def test_a_kind_that_does_not_exist() -> None:
    with pytest.raises(UsageError, match="no such kind of evidence: Gpu"):
        bridge.look_by_name("here", shell, ["Gpu"], seconds=1)


def test_all_questions_take_one_round_trip(monkeypatch: pytest.MonkeyPatch) -> None:
    trips: list[str] = []

    def counted(script: str) -> tuple[int, str, str]:
        trips.append(script)
        return shell(script)

    assert set(bridge.look("here", counted, {Sysctls, Hugepages}, seconds=20)) == {Sysctls, Hugepages, Gaps}
    assert len(trips) == 1


def test_a_host_that_cannot_be_asked_at_once_is_asked_one_by_one() -> None:
    def bare(script: str) -> tuple[int, str, str]:
        return shell("mktemp() { return 1; }\n" + script)

    assert "fs.file-max" in bridge.look("here", bare, {Sysctls}, seconds=20)[Sysctls].values


def test_a_host_whose_shell_answers_nothing_is_not_reached() -> None:
    with pytest.raises(TransportError, match="here: no POSIX shell answers: no shell"):
        bridge.look("here", lambda script: (1, "motd\n", "no shell\n"), {Sysctls}, seconds=5)


@pytest.mark.parametrize("case", ["", "cases/hang_missing_rank", "cases/hang_watchdog", "cases/stopped", "cases/sizes"])
def test_evidence_survives_the_way_through_facts(case: str) -> None:
    paths = [str(RECORDED / "host"), *([str(RECORDED / case)] if case else [])]
    seen = observe([text for one in recorded(paths) for text in one.texts])
    assert Gpus in seen
    assert bridge.evidence(bridge.plain(bridge.facts(seen))) == seen


def test_what_is_no_evidence_is_refused() -> None:
    with pytest.raises(UsageError, match="no evidence"):
        bridge.evidence({"Gpus": {"gpus": 7}})


def test_facts_of_a_newer_qops_are_passed_over() -> None:
    assert bridge.evidence({"FromTheFuture": {}}) == {Gaps: Gaps()}


def _seen(hardware: str) -> dict[type, Any]:
    return bridge.evidence(facts(hardware))


@pytest.mark.parametrize("hardware", HOSTS)
def test_the_class_of_a_host(hardware: str) -> None:
    assert bridge.planned("host_tuning", _seen(hardware), {})["hardware_class"] == hardware


def test_a_plan_says_what_differs_and_what_was_chosen() -> None:
    plan = bridge.planned("host_tuning", _seen("hgx"), {"swappiness": 60, "governor": "auto"})
    assert (plan["differs"], plan["failed"], plan["manage"]) == (True, [], True)
    assert plan["intent"] == (
        '{"qops_role": "host_tuning", "hardware_class": "", "settings": {"vm.swappiness": "60"}}\n'
    )
    assert any("there is no cpufreq" in line for line in plan["report"])


def test_a_host_of_no_known_class_is_not_touched() -> None:
    seen = {Gaps: Gaps()}
    plan = bridge.planned("host_tuning", seen, {})
    assert "no NVIDIA GPU was seen" in plan["failed"][0]
    assert bridge.planned("host_tuning", seen, {"manage": False})["failed"] == []


def test_what_was_not_seen_stops_a_role() -> None:
    seen = _seen("rtxpro")
    del seen[Hugepages]
    assert bridge.planned("host_tuning", seen, {})["failed"] == ["could not be read: hugepages.enabled"]


def test_a_role_without_a_plan() -> None:
    with pytest.raises(UsageError, match="no plan for the role 'toaster'"):
        bridge.role_plan("toaster")


def test_judging_finds_drift_and_says_what_was_not_seen() -> None:
    seen = _seen("rtxpro")
    judged = bridge.judged(bridge.rules(["HST060", "HST061", "HST062", "HST063"]), seen)
    assert sorted(line[:6] for line in judged["findings"]) == ["HST060", "HST061", "HST062", "HST063"]
    del seen[Hugepages]
    assert bridge.judged(bridge.rules(["HST063"]), seen)["unknown"] == ["HST063: Hugepages was not seen"]


def test_a_host_is_not_asked_for_an_image_that_somebody_would_have_to_name() -> None:
    rules = bridge.rules(["CUD061", "HST063"])  # as a reboot judges all that the roles run there may mend
    assert {kind.__name__ for kind in bridge.needed(rules)} <= bridge.KINDS.keys()
    assert bridge.judged(rules, {Gaps: Gaps()})["unknown"] == ["HST063: Hugepages was not seen"]


def test_judging_by_a_rule_that_does_not_exist() -> None:
    with pytest.raises(UsageError, match="no such rule: HST999"):
        bridge.rules(["HST999"])


def test_judging_by_the_class_that_the_inventory_names() -> None:
    seen = {**_seen("hgx"), Gpus: Gpus()}
    rules = bridge.rules(["HST062"])
    assert bridge.judged(rules, seen)["findings"] == []
    assert bridge.judged(rules, seen, "hgx")["findings"] != []


def test_types_by_name() -> None:
    assert bridge.KINDS["Sysctls"].makes is Sysctls
    assert bridge.KINDS["Hugepages"].makes is Hugepages


@pytest.mark.parametrize("value", ["True", "-1", "", "²", "10 20"])
def test_a_choice_that_is_no_number_is_refused(value: str) -> None:
    with pytest.raises(UsageError, match="swappiness cannot be"):
        bridge.planned("host_tuning", _seen("hgx"), {"swappiness": value})
