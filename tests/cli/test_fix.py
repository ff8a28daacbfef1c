"""`qops fix`: the change of the inventory, the way back, and what a call that was killed leaves."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from qops.cli import fix_apply, fix_change, fix_value
from qops.cli.group import qops
from qops.errors import UsageError
from qops.evidence.gpu import Gpu, Gpus
from qops.evidence.text import Quote
from qops.plans.proposal import Proposal
from qops.report import Coverage, Finding, HostReport, Verdict
from qops.rule import Confidence, Role, Severity
from qops.rules import ALL

RULE = next(rule for rule in ALL if rule.cause == "swappiness-too-high")


@pytest.fixture
def inventory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "site.yml").write_text("---\n")
    (tmp_path / "hosts.yml").write_text("all: {hosts: {whale: {}}}\n")
    yield str(tmp_path / "hosts.yml")


def _report(*causes: str, unknown: bool = False) -> HostReport:
    lacking = ((RULE.code, ("Sysctls",)),) if unknown else ()
    findings = tuple(
        Finding("X", c, "host", Role.CAUSE, Severity.ERROR, Confidence.CERTAIN, "", "", (), (), (), "") for c in causes
    )
    return HostReport("whale", "", Verdict.UNDETERMINED, "", findings, (), Coverage(1, 1, (), (), lacking, ()))


class Ansible:
    """Stands for the playbook and the host: what was run, and what each look finds."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, looks: list[HostReport], statuses: list[int]) -> None:
        self.ran: list[list[str]] = []
        self.looks, self.statuses = looks, statuses
        monkeypatch.setattr(fix_apply, "_play", self.play)
        monkeypatch.setattr(
            fix_apply, "_look", lambda run, quiet: self.looks.pop(0) if self.looks[1:] else self.looks[0]
        )
        monkeypatch.setattr(fix_apply, "PAUSE", 0.0)

    def play(self, words: list[str]) -> int:
        self.ran.append(words)
        return self.statuses.pop(0) if self.statuses else 0


def _apply(inventory: str, value: str | None = "5") -> fix_apply.Outcome:
    change = fix_change.plan(inventory, "whale", "host_tuning_swappiness", value)
    return fix_apply.apply(RULE, fix_apply.Run("whale", inventory, RULE.fix[0]), change, ask=False, quiet=True)


def _file(inventory: str) -> Path:
    return Path(inventory).parent / "host_vars/whale/qops-fix.yml"


def test_without_apply_it_shows_and_changes_nothing(inventory: str) -> None:
    done = CliRunner().invoke(qops, ["fix", "whale", "HST061", "-i", inventory, "--set", "5"])
    assert "+host_tuning_swappiness: 5" in done.output
    assert (
        "ansible-playbook site.yml -i" in done.output
        and "--tags host_tuning --limit whale --check --diff" in done.output
    )
    assert not _file(inventory).exists()


def test_a_finding_that_has_gone_is_mended_and_the_change_stays(
    inventory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ansible = Ansible(monkeypatch, [_report(RULE.cause), _report()], [])
    assert _apply(inventory).kind is fix_apply.Kind.MENDED
    assert "host_tuning_swappiness: 5" in _file(inventory).read_text()
    assert ["--check" in words for words in ansible.ran] == [True, False]
    assert fix_change.left_over("whale") is None


@pytest.mark.parametrize(("after", "why"), [([RULE.cause], "still found"), (["gpu-fell-off-bus"], "gpu-fell-off-bus")])
def test_what_does_not_mend_or_brings_another_is_taken_back(
    inventory: str, monkeypatch: pytest.MonkeyPatch, after: list[str], why: str
) -> None:
    ansible = Ansible(monkeypatch, [_report(RULE.cause), _report(*after)], [])
    outcome = _apply(inventory)
    assert (outcome.kind, why in outcome.text) == (fix_apply.Kind.TAKEN_BACK, True)
    assert not _file(inventory).exists() and not _file(inventory).parent.exists()
    assert len(ansible.ran) == 3  # the plan, the role, and the role with the inventory as it was


def test_a_role_that_fails_is_taken_back_and_one_that_is_not_judged_is_not(
    inventory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Ansible(monkeypatch, [_report(RULE.cause)], [0, 2])
    assert _apply(inventory).kind is fix_apply.Kind.TAKEN_BACK
    Ansible(monkeypatch, [_report(RULE.cause), _report(unknown=True)], [])
    assert _apply(inventory).kind is fix_apply.Kind.OPEN
    assert _file(inventory).exists()


def test_a_plan_that_fails_leaves_nothing(inventory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Ansible(monkeypatch, [_report(RULE.cause)], [4])
    with pytest.raises(UsageError, match="cannot be made"):
        _apply(inventory)
    assert not _file(inventory).exists() and fix_change.left_over("whale") is None


def test_what_is_not_found_is_not_mended(inventory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ansible = Ansible(monkeypatch, [_report()], [])
    with pytest.raises(UsageError, match="is not found"):
        _apply(inventory)
    assert ansible.ran == []


@pytest.mark.parametrize(("at", "says"), [(0, "not touched"), (1, "was running")])
def test_a_killed_fix_says_what_it_left_and_the_next_one_goes_back_to_the_first_state(
    inventory: str, monkeypatch: pytest.MonkeyPatch, at: int, says: str
) -> None:
    ansible = Ansible(monkeypatch, [_report(RULE.cause)], [])

    def killed(words: list[str]) -> int:
        ansible.ran.append(words)
        if len(ansible.ran) > at:
            raise SystemExit
        return 0

    monkeypatch.setattr(fix_apply, "_play", killed)
    with pytest.raises(SystemExit):
        _apply(inventory)
    left = fix_change.left_over("whale")
    assert left is not None
    assert "the inventory has the change" in fix_change.told(left) and says in fix_change.told(left)
    other = next(rule for rule in ALL if rule.cause == "thp-not-madvise")
    with pytest.raises(UsageError, match="was cut short"):
        run = fix_apply.Run("whale", inventory, other.fix[0])
        fix_apply.apply(other, run, left.change, ask=False, quiet=True)
    Ansible(monkeypatch, [_report(RULE.cause), _report(RULE.cause)], [])
    assert _apply(inventory, "7").kind is fix_apply.Kind.TAKEN_BACK
    assert not _file(inventory).exists()


def test_two_fixes_of_one_host_do_not_run_beside_each_other(inventory: str) -> None:
    with fix_change.alone("whale"):
        done = CliRunner().invoke(qops, ["fix", "whale", "HST061", "-i", inventory, "--apply", "--yes"])
    assert isinstance(done.exception, UsageError) and "under way" in done.exception.message


def test_a_file_that_ansible_would_no_longer_read_is_in_the_way(inventory: str) -> None:
    folder = Path(inventory).parent / "host_vars"
    folder.mkdir()
    (folder / "whale.yml").write_text("a: 1\n")
    with pytest.raises(UsageError, match=r"whale\.yml has the host's variables"):
        fix_change.plan(inventory, "whale", "host_tuning_swappiness", "5")
    with pytest.raises(UsageError, match="no name of one host"):
        fix_change.plan(inventory, "../whale", "host_tuning_swappiness", "5")


def test_what_no_role_mends_leads_to_the_runbook() -> None:
    done = CliRunner().invoke(qops, ["fix", "whale", "NCL018"])
    assert isinstance(done.exception, UsageError) and "qops runbook run NCL018" in done.exception.hint


def test_a_value_that_nothing_tells_is_asked_for_with_where_it_is(inventory: str) -> None:
    done = CliRunner().invoke(qops, ["fix", "whale", "HST110", "-i", inventory])
    assert isinstance(done.exception, UsageError)
    assert done.exception.message == "api-port-open needs a value for firewall_allow"
    assert "--set VALUE: the networks" in done.exception.hint
    Path(inventory).write_text("all: {hosts: {whale: {firewall_allow: [10.0.0.0/8]}}}\n")
    done = CliRunner().invoke(qops, ["fix", "whale", "HST110", "-i", inventory])
    assert "the inventory stays as it is" in done.output
    done = CliRunner().invoke(qops, ["fix", "whale", "HST110", "-i", inventory, "--set", "[10.0.0.0/8]"])
    assert "+firewall_allow:" in done.output


def test_a_value_that_the_hosts_evidence_tells_is_proposed_with_its_reason(
    inventory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposal = Proposal("off", "inference does not use it", ("module.nvidia_uvm.uvm_disable_hmm = 1",))
    monkeypatch.setattr(fix_value, "proposed", lambda *given, quiet: proposal)
    done = CliRunner().invoke(qops, ["fix", "whale", "HST018", "-i", inventory])
    assert "pcie_p2p_hmm: off, since inference does not use it" in done.output
    assert "+pcie_p2p_hmm: 'off'" in done.output


def test_what_the_inventory_says_is_not_proposed_again(inventory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = Gpu(
        0, Quote("smi", 1, ""), "B", uuid="GPU-1", persistence=False, power_limit=400.0, power_limit_default=575.0
    )
    rule = next(rule for rule in ALL if rule.cause == "power-cap-below-need")

    def asked(variables: dict[str, object]) -> Proposal | None:
        def make(known: object, of: Callable[..., object], *rest: object, **named: object) -> tuple[object, ...]:
            return {"whale": of({Gpus: Gpus((gpu,))}, variables)}, {}, False

        monkeypatch.setattr(fix_value.each, "make", make)
        return fix_value.proposed(rule, rule.fix[0], inventory, "whale", quiet=True)

    assert asked({"gpu_power_limit": 300}) is None
    for same in ({}, {"gpu_power_limit": "auto"}):
        found = asked(same)
        assert found is not None and found.value == "default"
