"""How the engine orders findings and comes to a verdict."""

from collections.abc import Iterator

from qops import probes
from qops.engine import judge, observe
from qops.evidence.gpu import Gpus, GpuSamples
from qops.evidence.message import Logs
from qops.evidence.text import Gap, Gaps, Quote, Text
from qops.probes.base import Probe
from qops.report import Verdict, exit_status
from qops.rule import Confidence, Found, Role, Rule, RuledOut, Severity, rule

Q = (Quote("a.log", 1, "x"),)


def _rule(code: str, cause: str, confidence: Confidence = Confidence.LIKELY, **options: object) -> Rule:
    def check(logs: Logs) -> Iterator[Found | RuledOut]:
        """Something is wrong."""
        yield Found("host", f"is {cause}", Q, confidence)

    return rule(code, cause, **options)(check)  # type: ignore[arg-type]


def _judge(*rules: Rule, gaps: tuple[Gap, ...] = ()) -> tuple[Verdict, list[tuple[str, Role]]]:
    report = judge("h", "", {Logs: Logs(), Gaps: Gaps(gaps)}, rules)
    return report.verdict, [(f.cause, f.role) for f in report.findings]


def test_stronger_evidence_comes_first() -> None:
    _, order = _judge(_rule("A", "weak", Confidence.POSSIBLE), _rule("B", "strong", Confidence.CERTAIN))
    assert [c for c, _ in order] == ["strong", "weak"]


def test_a_cause_that_another_explains_is_its_consequence() -> None:
    _, order = _judge(_rule("A", "late", Confidence.CERTAIN), _rule("B", "early", explains=("late",)))
    assert order == [("early", Role.CAUSE), ("late", Role.SYMPTOM)]


def test_two_causes_that_explain_each_other_stay_causes() -> None:
    _, order = _judge(_rule("A", "a", explains=("b",)), _rule("B", "b", explains=("a",)))
    assert {role for _, role in order} == {Role.CAUSE}


def test_a_symptom_alone_is_undetermined() -> None:
    verdict, _ = _judge(_rule("A", "hang", role=Role.SYMPTOM))
    assert verdict is Verdict.UNDETERMINED


def test_a_sign_of_health_is_needed_to_be_healthy() -> None:
    assert _judge()[0] is Verdict.UNDETERMINED
    assert _judge(_rule("A", "works", role=Role.INFO, severity=Severity.INFO))[0] is Verdict.HEALTHY


def test_a_healthy_host_is_told_by_what_works_before_what_only_looks_like_a_fault() -> None:
    signs = [
        _rule(code, cause, role=Role.INFO, severity=Severity.INFO) for code, cause in (("A", "benign-x"), ("B", "y"))
    ]
    assert judge("h", "", {Logs: Logs(), Gaps: Gaps(())}, signs).reason == "host: is y"


def test_evidence_that_could_not_be_read_is_never_healthy() -> None:
    works = _rule("A", "works", role=Role.INFO, severity=Severity.INFO)
    assert _judge(works, gaps=(Gap("nvidia-smi -q", "no answer in 10 s", "timeout"),))[0] is Verdict.UNDETERMINED


def test_a_rule_without_its_evidence_is_counted_as_unknown() -> None:
    def check(gpus: Gpus) -> Iterator[Found | RuledOut]:
        """Something is wrong."""
        yield Found("host", "is so", Q)

    report = judge("h", "", observe([Text("a", ("hello",))]), [rule("A", "a")(check)])
    assert report.coverage.unknown == (("A", ("Gpus",)),)
    assert (report.coverage.judged, report.coverage.rules) == (0, 1)
    assert exit_status((report,)) == 3


def _reads(*texts: Text, **options: object) -> list[str]:
    """Return the sources of `texts` that a probe with these options parses."""
    got: list[str] = []
    mine = Probe("mine", Gpus, lambda own: got.extend(t.source for t in own), lambda text: True, **options)  # type: ignore[arg-type]
    other = Probe("other", Logs, lambda own: None, lambda text: False)
    observe(texts, known=(mine, other))
    return got


def test_a_loose_text_goes_to_whoever_recognises_it() -> None:
    assert _reads(Text("paste.txt", ("anything",))) == ["paste.txt"]
    assert _reads(Text("old.txt", ("anything",), probe="of an older release")) == ["old.txt"]


def test_an_answer_goes_to_who_asked_and_to_few_others() -> None:
    asked, others = Text("mine", ("anything",), probe="mine"), Text("theirs", ("anything",), probe="other")
    assert _reads(asked, others) == ["mine"]
    assert _reads(asked, others, shares=("other",)) == ["mine", "theirs"]
    assert _reads(asked, others, every=True) == ["mine", "theirs"]


def test_an_answer_with_a_literal_goes_to_the_probe_of_the_literal() -> None:
    held = Text("journal", ("node1:7:9 [0] NCCL INFO Bootstrap: Using eth0",), probe="services")
    assert "nccl-log" in probes.called(held)
    assert "nccl-log" not in probes.called(Text("journal", ("nothing of the kind",), probe="services"))


def test_one_answer_about_the_gpus_is_a_moment_where_no_series_was_had() -> None:
    rows = ("index, utilization.gpu [%], power.draw [W]", "0, 97 %, 410.00 W")
    answer = Text("nvidia-smi --query-gpu=index,utilization.gpu,power.draw --format=csv", rows, probe="gpus")
    assert [s.utilization for s in observe([answer])[GpuSamples].samples] == [97]
