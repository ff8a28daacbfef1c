"""Suppressions: what they cover, what is left of the verdict, and that a mistake in one is said where it stands."""

from datetime import date
from pathlib import Path

import pytest
from click.testing import CliRunner
from reports import finding, host

from qops.cli.group import qops
from qops.cli.suppressing import from_file, settle
from qops.errors import UsageError
from qops.evidence.text import Gap
from qops.inventory import hosts
from qops.job import Judged, joined
from qops.report import HostReport, Verdict, exit_status
from qops.rule import Role, Severity
from qops.suppression import apply, mistakes, read

CASE = str(Path(__file__).parent / "hosts/live-stopped.tar.gz")
TODAY = date(2026, 12, 1)
GOOD = {"code": "NCL002", "reason": "somebody debugs it", "until": "2027-01-31"}
SIGN = finding("SRV801", cause="engine-serves", role=Role.INFO, severity=Severity.INFO, message="it serves")


def _after(report: HostReport, *entries: dict[str, object]) -> HostReport:
    return apply(report, read(list(entries), "here"), TODAY)


def _report(*findings: object, gaps: tuple[Gap, ...] = ()) -> HostReport:
    from msgspec.structs import replace

    from qops.engine import verdict

    made = host(*findings)  # type: ignore[arg-type]
    said, reason = verdict(made.findings, gaps)
    return replace(made, verdict=said, reason=reason, coverage=replace(made.coverage, gaps=gaps))


def test_a_suppressed_finding_is_shown_last_and_does_not_make_the_verdict() -> None:
    after = _after(_report(finding(), SIGN), GOOD)
    assert (after.verdict, exit_status((after,))) == (Verdict.HEALTHY, 0)
    assert "1 suppressed" in after.reason and [f.code for f in after.findings] == ["SRV801", "NCL002"]
    assert str(after.findings[1].suppressed) == "suppressed until 2027-01-31: somebody debugs it"


def test_without_a_good_sign_the_host_is_not_called_healthy() -> None:
    assert _after(_report(finding()), GOOD).verdict is Verdict.UNDETERMINED


def test_what_could_not_be_read_still_leaves_a_doubt() -> None:
    lost = (Gap("nvidia-smi -q", "no answer within 5 s", "timeout"),)
    assert _after(_report(finding(), SIGN, gaps=lost), GOOD).verdict is Verdict.UNDETERMINED


def test_another_cause_stays_and_comes_first() -> None:
    after = _after(_report(finding(), finding("HST009", cause="other"), SIGN), GOOD)
    assert after.verdict is Verdict.FAULT and after.root is not None and after.root.cause == "other"


def test_what_the_suppressed_cause_explained_is_not_silenced_with_it() -> None:
    hang = finding("NCL901", cause="collective-hang", role=Role.SYMPTOM)
    assert _after(_report(finding(explains=("collective-hang",)), hang, SIGN), GOOD).verdict is Verdict.UNDETERMINED


def test_it_holds_on_its_last_day_and_counts_on_the_next() -> None:
    report = _report(finding(), SIGN)
    assert _after(report, GOOD | {"until": "2026-12-01"}).verdict is Verdict.HEALTHY
    after = _after(report, GOOD | {"until": "2026-11-30"})
    assert after.verdict is Verdict.FAULT and after.findings[0].counts
    assert "suppression ended on 2026-11-30" in str(after.findings[0].suppressed)


def test_of_two_the_longer_one_holds() -> None:
    assert _after(_report(finding(), SIGN), GOOD | {"until": "2026-01-01"}, GOOD).verdict is Verdict.HEALTHY


@pytest.mark.parametrize(
    ("entry", "covered"),
    [
        ({"cause": "rank-stopped"}, True),
        ({"code": "NCL002", "subject": "rank 1 *"}, True),
        ({"code": "NCL002", "subject": "rank 2 *"}, False),
        ({"code": "HST009"}, False),
    ],
)
def test_it_covers_by_code_cause_and_subject(entry: dict[str, object], covered: bool) -> None:
    report = _report(finding(), SIGN)
    known = {"reason": "r", "until": date(2027, 1, 31)} | entry
    assert (_after(report, known).verdict is Verdict.HEALTHY) is covered


def test_a_verdict_that_has_another_reason_stays() -> None:
    from msgspec.structs import replace

    lost = replace(_report(finding(), SIGN), verdict=Verdict.UNDETERMINED, reason="the connection was lost")
    assert _after(lost, GOOD).verdict is Verdict.UNDETERMINED
    unreachable = replace(lost, verdict=Verdict.UNREACHABLE)
    assert _after(unreachable, GOOD).verdict is Verdict.UNREACHABLE


def test_a_suppressed_cause_is_not_the_cause_of_a_job() -> None:
    ties = frozenset({"communicator 0x1"})
    first = _after(_report(finding(), SIGN), GOOD)
    reports, jobs = joined([Judged(first, ties), Judged(_report(SIGN), ties)], ())
    assert [job.verdict for job in jobs] == [Verdict.HEALTHY] and exit_status(reports, jobs) == 0


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ({"reason": "r", "until": "2027-01-31"}, "neither a code nor a cause"),
        ({"code": "ABC123", "reason": "r", "until": "2027-01-31"}, "no rule is called ABC123"),
        ({"code": "NCL002", "cause": "disk-full", "reason": "r", "until": "2027-01-31"}, "no rule is called NCL002"),
        ({"code": "NCL002", "until": "2027-01-31"}, "no reason"),
        ({"code": "NCL002", "reason": " ", "until": "2027-01-31"}, "no reason"),
        ({"code": "NCL002", "reason": "r"}, "no last day"),
        ({"code": "NCL002", "reason": "r", "until": "soon"}, "until must be a day"),
        ({"code": "NCL002", "reason": "r", "until": "2027-02-30"}, "until must be a day"),
        ({"code": "NCL002", "reason": "r", "until": 2027}, "until must be a day"),
        ({"code": ["NCL002"], "reason": "r", "until": "2027-01-31"}, "code must be text"),
        (GOOD | {"subjct": "x"}, "subjct means nothing"),
        (GOOD | {"subject": 3}, "subject must be text"),
        ("NCL002", "an entry is a mapping"),
    ],
)
def test_a_mistake_is_named_with_its_entry(entry: object, told: str) -> None:
    (found,) = mistakes([GOOD, entry])
    assert found[0] == 1 and told in found[1]
    with pytest.raises(UsageError, match="here: entry 2: "):
        read([GOOD, entry], "here")


def test_what_is_no_list_is_a_mistake() -> None:
    assert [message for _, message in mistakes({"code": "NCL002"})] == [
        "qops_suppress is a list of entries, and this is none"
    ]


def test_a_file_has_its_line_in_the_error(tmp_path: Path) -> None:
    file = tmp_path / "suppress.yml"
    file.write_text(
        "# ours\nqops_suppress:\n  - {code: NCL002, reason: r, until: 2027-01-31}\n  - code: NCL002\n    until: 2027-13-31\n    reason: r\n"
    )
    with pytest.raises(UsageError, match=r"suppress.yml:4: until must be a day"):
        from_file(str(file))
    file.write_text("- {code: NCL002, reason: r, until: 2027-01-31}\n")
    assert from_file(str(file))[0].until == date(2027, 1, 31)
    file.write_text("")
    assert from_file(str(file)) == ()


@pytest.mark.parametrize("content", [b"- [", b"\xff\xfe\x00", b"a: &a [*a]\n", b"- " * 100_000])
def test_a_damaged_file_is_a_usage_error(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "suppress.yml"
    file.write_bytes(content)
    with pytest.raises(UsageError):
        from_file(str(file))


INVENTORY = """
all:
  vars:
    qops_suppress:
      - {code: NCL002, reason: r, until: 2027-01-31}
  hosts:
    a: {}
    b:
      qops_suppress: []
"""


@pytest.mark.parametrize("ansible", [True, False])
def test_an_inventory_gives_each_host_its_own(ansible: bool, tmp_path: Path) -> None:
    file = tmp_path / "hosts.yml"
    file.write_text(INVENTORY)
    mark = settle(None, str(file), hosts(str(file), also=("qops_suppress",), ansible=ansible))
    from msgspec.structs import replace

    report = _report(finding(), SIGN)
    marked = {name: mark(replace(report, host=name)).findings for name in ("a", "b", "c")}
    assert {name: any(f.suppressed for f in found) for name, found in marked.items()} == {
        "a": True,
        "b": False,
        "c": False,
    }


def test_a_mistake_in_an_inventory_has_file_and_line_before_any_host_is_asked(tmp_path: Path) -> None:
    file = tmp_path / "hosts.yml"
    file.write_text(INVENTORY.replace("reason: r, ", ""))
    done = CliRunner().invoke(qops, ["diagnose", "-i", str(file)])
    assert isinstance(done.exception, UsageError) and f"{file}:4" in done.exception.message
    assert "no reason" in done.exception.message
    roles = str(Path(__file__).parent.parent / "roles")
    checked = CliRunner().invoke(qops, ["inventory", str(file), "--roles", roles], standalone_mode=False)
    assert checked.return_value == 1 and f"error: {file}:4: qops_suppress: entry 1: it has no reason" in checked.stdout


@pytest.mark.parametrize("form", ["text", "json", "sarif", "junit", "html"])
@pytest.mark.parametrize("quiet", [[], ["-q"]])
def test_every_format_shows_it_with_its_reason(form: str, quiet: list[str], tmp_path: Path) -> None:
    file = tmp_path / "suppress.yml"
    file.write_text("- {code: NCL002, reason: somebody debugs it, until: 2099-01-31}\n")
    arguments = ["diagnose", "--from", CASE, "--suppress", str(file), "--format", form, *quiet]
    done = CliRunner().invoke(qops, arguments, standalone_mode=False)
    assert done.return_value == 3 and "somebody debugs it" in done.stdout and "rank-stopped" in done.stdout
