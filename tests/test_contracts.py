"""What must hold for every rule, probe, message and page at once."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from qops import __version__, plans, probes
from qops.cli.group import COMMANDS, qops
from qops.data import messages
from qops.evidence.message import Hit, Logs
from qops.evidence.text import Gaps, Quote
from qops.rule import Role, Rule, Severity
from qops.rules import ALL, LISTED, RETIRED
from qops.rules.listing import Listed, said

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "script"))
import rule_index  # noqa: E402

HEADINGS = ["Meaning", "Impact", "Diagnosis", "Mitigation", "Verification", "Escalation"]
FAMILIES = {"nccl": "NCL", "cuda": "CUD", "host": "HST", "serve": "SRV"}
rules = pytest.mark.parametrize("rule", ALL, ids=lambda r: r.code)


def _modules() -> set[str]:
    files = (ROOT / "src/qops/rules").glob("*/*.py")
    return {f"{p.parent.name}.{p.stem}" for p in files if p.stem != "__init__"}


def test_every_rule_file_is_listed_and_the_reverse() -> None:
    listed = {".".join(r.check.__module__.split(".")[-2:]) for r in ALL}
    assert listed == _modules()


def test_codes_and_causes_are_unique() -> None:
    codes = [r.code for r in ALL]
    assert len(set(codes)) == len(codes)
    assert not set(codes) & set(RETIRED)
    assert len({r.cause for r in ALL}) == len(ALL)


@rules
def test_a_rule_is_well_formed(rule: Rule) -> None:
    assert re.fullmatch(rf"{FAMILIES[rule.family]}\d{{3}}", rule.code)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", rule.cause)
    assert rule.summary and "\n" not in rule.summary and rule.summary.endswith(".")
    number = int(rule.code[3:])
    assert (rule.role is Role.SYMPTOM) == (number >= 900)
    assert (rule.role is Role.INFO) == (800 <= number < 900)
    assert (rule.severity is Severity.INFO) or rule.role is not Role.INFO


@rules
def test_what_a_rule_explains_exists(rule: Rule) -> None:
    known = {r.cause for r in ALL}
    assert [name for name in rule.explains if name not in known] == []


@rules
def test_every_cause_says_what_mends_it(rule: Rule) -> None:
    if rule.role is Role.CAUSE:
        assert rule.fix, f"{rule.code} names no fix"
        assert all(f.kind in ("fix", "workaround") for f in rule.fix)


@rules
def test_every_rule_has_a_test_that_names_it(rule: Rule) -> None:
    module = rule.check.__module__.rsplit(".", 1)[-1]
    files = list((ROOT / "tests/rules" / rule.family).glob("test_*.py"))
    named = [
        p for p in files if p.stem == f"test_{module}" or re.search(rf"\b{module}\b", p.read_text(encoding="utf-8"))
    ]
    assert named, f"no test in tests/rules/{rule.family} is about {module}"


@rules
def test_every_rule_has_a_page_with_all_headings(rule: Rule) -> None:
    text = (ROOT / rule.runbook).read_text(encoding="utf-8")
    assert text.startswith(f"# {rule.code}: {rule.cause}\n")
    assert re.findall(r"^## (.+)$", text, re.M) == HEADINGS


def test_every_page_has_a_rule() -> None:
    pages = {str(p.relative_to(ROOT)) for family in FAMILIES for p in (ROOT / "runbooks" / family).glob("*.md")}
    assert pages == {r.runbook for r in ALL}


def _blocks() -> list[tuple[str, str]]:
    found = []
    for page in sorted((ROOT / "runbooks").rglob("*.md")):
        for block in re.findall(r"^```bash[^\n]*\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S):
            found.append((page.stem, block))
    return found


def test_shell_blocks_of_the_pages_parse() -> None:
    for page, block in _blocks():
        done = subprocess.run(["bash", "-n"], input=block, text=True, capture_output=True, check=False)
        assert done.returncode == 0, f"{page}: {done.stderr}"


def test_commands_quoted_in_pages_exist() -> None:
    for page, block in _blocks():
        for line in block.splitlines():
            for quoted in re.findall(r"(?:^|[;&|]\s*)qops ((?:[\w./=-]+ ?)+)", line):
                words = quoted.split()
                assert words[0] in COMMANDS, f"{page}: qops {quoted}"
                if words[0] == "lab":
                    continue
                options = [w.split("=")[0] for w in words if w.startswith("--")]
                text = CliRunner().invoke(qops, [words[0], "--help"]).output
                assert all(o in text for o in options), f"{page}: qops {quoted}"


def test_messages_are_unique_used_and_found_by_their_literals() -> None:
    ids = [m.id for m in messages.ALL]
    assert len(set(ids)) == len(ids)
    source = "\n".join(p.read_text(encoding="utf-8") for p in (ROOT / "src/qops").rglob("*.py"))
    for message in messages.ALL:
        assert message.literals and message.origin, message.id
        assert all(len(literal) >= 3 for literal in message.literals), message.id
        message.regex.pattern  # noqa: B018 - compiles
    names = {
        f"{path.stem}.{target.id}"
        for path in (ROOT / "src/qops/data/messages").glob("*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and target.id.isupper() and not target.id.startswith("_") and target.id != "ALL"
    }
    unused = [n for n in names if not re.search(rf"\b{n.split('.')[1]}\b(?! = )", source)]
    assert unused == []


def test_each_evidence_type_is_made_by_one_probe_and_used_by_a_rule_or_a_plan() -> None:
    made = [p.makes for p in probes.ALL]
    assert len(set(made)) == len(made)
    used = {t for r in ALL for _, t in (*r.needs, *r.wants)}
    planned = {kind for plan in plans.ALL for kind in plan.kinds}
    assert [p.name for p in probes.ALL if p.makes not in used | planned] == []
    # What only a plan needs costs a diagnosis no time.
    assert [p.name for p in probes.ALL if p.families and p.makes not in used] == []


def test_every_question_says_why_and_has_a_limit() -> None:
    for probe in probes.ALL:
        for ask in probe.asks:
            assert ask.why
            assert getattr(ask, "timeout", 1) > 0


def test_no_module_is_longer_than_300_lines() -> None:
    long = {
        str(p.relative_to(ROOT)): n
        for p in (ROOT / "src").rglob("*.py")
        if (n := len(p.read_text(encoding="utf-8").splitlines())) > 300
    }
    assert long == {}


def test_the_command_line_starts_without_what_it_does_not_need() -> None:
    heavy = ["fabric", "paramiko", "ansible", "rich", "jinja2", "yaml", "msgspec", "importlib.metadata", "asyncio"]
    code = f"import sys, qops.cli.run; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_the_version_is_said_without_the_command_line(option: str) -> None:
    code = (
        f"import sys; sys.argv[1:] = [{option!r}]; from qops.cli import main; main(); "
        "print([m for m in ('click', 'msgspec') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, check=True)
    assert done.stdout.splitlines() == [f"qops {__version__}", "[]"]
    by_click = CliRunner().invoke(qops, [option])
    assert by_click.output == f"qops {__version__}\n"


def test_an_offline_diagnosis_loads_nothing_that_it_does_not_need(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text("RuntimeError: No CUDA GPUs are available\n")
    unneeded = (
        *("fabric", "paramiko", "ansible", "rich", "jinja2", "yaml", "subprocess", "tempfile", "xml", "hashlib"),
        *("dataclasses", "qops.secret_forms", "qops.plans", "qops.flags", "qops.recipes", "qops.lab"),
    )
    code = (
        "import sys; from qops.cli.run import run; status = run(['diagnose', '--from', sys.argv[1]]); "
        f"print([m for m in {unneeded!r} if m in sys.modules], status)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(log)], text=True, capture_output=True, check=True)
    assert done.stdout.splitlines()[-1] == "[] 1"


def test_an_offline_diagnosis_of_a_host_reads_its_xml_with_the_parser_alone() -> None:
    unneeded = ("xml.etree", "html", "subprocess", "tempfile", "yaml", "rich", "dataclasses")
    code = (
        "import sys; from qops.cli.run import run; status = run(['diagnose', '--from', sys.argv[1]]); "
        f"print([m for m in {unneeded!r} if m in sys.modules], 'pyexpat' in sys.modules)"
    )
    bundle = ROOT / "tests/hosts/live-missing.tar.gz"
    done = subprocess.run([sys.executable, "-c", code, str(bundle)], text=True, capture_output=True, check=True)
    assert done.stdout.splitlines()[-1] == "[] True"


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_explains_itself_with_an_example(name: str) -> None:
    done = CliRunner().invoke(qops, [name, "--help"])
    assert done.exit_code == 0
    assert "Example" in done.output


def test_the_index_of_the_rules_is_current() -> None:
    assert rule_index.PLACE.read_text(encoding="utf-8") == rule_index.made(), "run script/docs"
    assert [(one.code, one.cause, one.family) for one in LISTED] == [(r.code, r.cause, r.family) for r in ALL]


@pytest.mark.parametrize("one", LISTED, ids=lambda one: one.code)
def test_a_rule_says_nothing_where_the_index_does_not_call_it(one: Listed) -> None:
    """It is not imported then: so it may neither find nor rule out anything, whatever other messages were seen."""
    hits = tuple(Hit(m.id, Quote("a.log", n, m.id)) for n, m in enumerate(messages.ALL, 1) if m.id not in one.messages)
    logs = Logs(
        hits=hits,
        counts=tuple((h.id, 1) for h in hits),
        ends=(Quote("a.log", len(hits), "the end"),),
        sources=("a.log",),
    )
    evidence = {Logs: logs, Gaps: Gaps()}
    assert not one.concerned(evidence, {"Logs", "Gaps"}, said(evidence))
    if not one.missing({"Logs", "Gaps"}):
        assert one.rule.judge(evidence) == ()
    assert one.concerned(evidence, {"Logs", "Gaps"}, frozenset(one.messages[:1])) is bool(one.messages)


def test_a_diagnosis_imports_the_rules_that_its_evidence_concerns(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text("RuntimeError: No CUDA GPUs are available\n")
    code = (
        "import sys; from qops.cli.run import run; run(['diagnose', '--from', sys.argv[1]]); "
        "print(*(m for m in sys.modules if m.startswith('qops.rules.') and m.count('.') == 3))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(log)], text=True, capture_output=True, check=True)
    imported = done.stdout.splitlines()[-1].split()
    assert "qops.rules.cuda.no_visible_gpu" in imported
    assert not {"qops.rules.nccl.shm_too_small", "qops.rules.host.thermal_throttle"} & set(imported)
    assert len(imported) < len(ALL) / 4
