"""The formats from the command line: into a file, whole or not at all, and without the secrets of a host."""

import json
import stat
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from sarif_schema import against_the_standard

from qops.cli.group import qops
from qops.cli.reporting import FORMATS
from qops.cli.run import run
from qops.render.document import Document

ROOT = Path(__file__).parent.parent.parent
CASE = str(ROOT / "tests/hosts/h200x2/cases/deadlock2")
SECRET = "hf_" + "Zq7Lw2Xn9Vb4Kd6Rm3Tp"
# The engine prints its own command line when it fails, with what was in it.
LOG = f"""ERROR 11-30 10:00:00 [core.py:1] EngineCore failed to start. Authorization: Bearer {SECRET}
huggingface_hub.errors.GatedRepoError: 401 Client Error. token={SECRET}
Cannot access gated repo for url https://user:{SECRET}@huggingface.co/x/resolve/main/config.json?token={SECRET}
torch.AcceleratorError: CUDA error: an illegal memory access was encountered HF_TOKEN={SECRET}
"""


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_goes_to_a_file_as_it_goes_to_the_screen(form: str, tmp_path: Path) -> None:
    arguments = ["diagnose", "--from", CASE, "--format", form]
    shown = CliRunner().invoke(qops, arguments)
    file = tmp_path / "report"
    file.write_text("old")
    written = CliRunner().invoke(qops, [*arguments, "-o", str(file)])
    assert shown.exit_code == written.exit_code and shown.stdout and written.stdout == ""
    assert file.read_text() == shown.stdout
    assert [one.name for one in tmp_path.iterdir()] == ["report"]
    assert stat.S_IMODE(file.stat().st_mode) & 0o400


@pytest.mark.parametrize("form", FORMATS)
def test_no_format_shows_a_secret(form: str, tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text(LOG)
    done = CliRunner().invoke(qops, ["diagnose", "--from", str(log), "--format", form, "-v"])
    assert "rror" in done.stdout or form in ("prometheus", "nagios", "sarif")
    assert SECRET not in done.stdout and SECRET not in done.stderr


def test_what_is_shown_holds_the_line_and_a_mark_for_the_secret(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text(LOG)
    document = CliRunner().invoke(qops, ["diagnose", "--from", str(log), "--format", "json"]).stdout
    found = msgspec.json.decode(document, type=Document).hosts[0].findings
    quoted = [quote.text for one in found for quote in one.evidence]
    assert any("<redacted:1>" in text for text in quoted)


def test_a_file_that_cannot_be_written_is_a_usage_error_and_what_was_there_stays(tmp_path: Path) -> None:
    done = CliRunner().invoke(qops, ["diagnose", "--from", CASE, "-o", str(tmp_path / "no" / "file")])
    assert "cannot write" in str(done.exception)
    folder = CliRunner().invoke(qops, ["diagnose", "--from", CASE, "-o", str(tmp_path)])
    assert "is a folder" in str(folder.exception)


def test_nagios_hears_of_a_mistake_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--from", "/nowhere"], ["--no-such-option"], ["--from", CASE, "--select", "XYZ"]):
        assert run(["diagnose", *arguments, "--exit-codes", "nagios"]) == 3
        assert capsys.readouterr().out.startswith("QOPS UNKNOWN - ")
    assert run(["diagnose", "--from", CASE, "--format", "nagios", "--exit-codes=nagios"]) == 2
    assert capsys.readouterr().out.startswith("QOPS CRITICAL - ")


def test_the_lints_name_file_and_line_in_sarif(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compose = tmp_path / "compose.yml"
    compose.write_text(
        'services:\n  llm:\n    image: vllm/vllm-openai:v0.33.0\n    command: ["m", "--swap-space", "4"]\n'
    )
    assert run(["recipes", "check", "--file", str(compose), "--format", "sarif"]) == 1
    log = capsys.readouterr().out
    assert against_the_standard(log) == []
    results = json.loads(log)["runs"][0]["results"]
    (removed,) = [one for one in results if one["ruleId"] == "removed"]
    place = removed["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": compose.as_uri()}, "region": {"startLine": 4}}


def test_an_inventory_names_them_too(tmp_path: Path) -> None:
    hosts = tmp_path / "hosts.yml"
    hosts.write_text("all:\n  hosts:\n    a:\n      host_tuning_no_such: 1\n")
    file = tmp_path / "out.sarif"
    arguments = ["inventory", str(hosts), "--roles", str(ROOT / "roles"), "--format", "sarif", "-o", str(file)]
    assert CliRunner().invoke(qops, arguments, standalone_mode=False).return_value == 1
    assert against_the_standard(file.read_text()) == []
    (result,) = json.loads(file.read_text())["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == (hosts.as_uri(), 4)
