"""Bundles of several hosts, and bundles that are redacted again: nothing planted stays, and the same stays the same."""

import io
import json
import re
import stat
import tarfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from planted import COMMON, PLACES, answers, secret

from qops.cli.group import qops
from qops.cli.reporting import FORMATS
from qops.cli.run import run
from qops.errors import BundleError
from qops.redaction import Redactor
from qops.transports import bundle_again
from qops.transports.answer import Answer
from qops.transports.base import Completed
from qops.transports.bundle_writer import Writer

SECRETS = [COMMON, *(secret(place) for place in PLACES)]


def _members(path: Path) -> dict[str, bytes]:
    """Return every file of a bundle, also those of the bundles in it."""
    found: dict[str, bytes] = {}
    with tarfile.open(path) as tar:
        for member in tar:
            data = tar.extractfile(member).read()  # type: ignore[union-attr]
            if member.name.endswith(".tar.gz"):
                with tarfile.open(fileobj=io.BytesIO(data)) as inner:
                    found |= {f"{member.name}/{m.name}": inner.extractfile(m).read() for m in inner}  # type: ignore[union-attr]
            else:
                found[member.name] = data
    return found


def _write(path: Path, host: str, redact: Redactor, recorded: list[Answer] | None = None) -> Path:
    with Writer(path, host, redactor=redact) as writer:
        for answer in answers() if recorded is None else recorded:
            writer.add(answer)
    return path


def _bundle(path: Path, host: str = "gpu-01", common: Redactor | None = None) -> Path:
    redact = common or Redactor()
    _write(path, host, Redactor(alike=redact))
    bundle_again.settle([path], redact)
    return path


def test_no_planted_secret_is_in_the_bundle(tmp_path: Path) -> None:
    held = b"\n".join(_members(_bundle(tmp_path / "b.tar.gz")).values()).decode(errors="replace")
    assert [one for one in SECRETS if one in held] == []
    assert held.count("<redacted:") > len(SECRETS)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("redacted", [True, False])
def test_no_planted_secret_is_in_any_report(form: str, redacted: bool, tmp_path: Path) -> None:
    if redacted:
        source = _bundle(tmp_path / "b.tar.gz")
    else:  # as somebody sends it, in loose files
        source = tmp_path / "loose"
        source.mkdir()
        for number, answer in enumerate(answers()):
            done = answer.completed
            (source / f"{number}.txt").write_bytes(done.stdout.replace(b"\0", b"\n") + done.stderr)
    done = CliRunner().invoke(qops, ["diagnose", "--from", str(source), "--format", form, "-v"])
    assert done.stdout
    assert [one for one in SECRETS if one in done.stdout + done.stderr] == []


def test_the_same_secret_has_the_same_mark_in_all_files_of_all_hosts(tmp_path: Path) -> None:
    common = Redactor()
    first, second = (_bundle(tmp_path / f"{name}.tar.gz", name, common) for name in ("a", "b"))
    marks = {
        path: re.findall(rb"using (<redacted:\d+>) now", b"\n".join(_members(path).values()))
        for path in (first, second)
    }
    assert len(set(marks[first] + marks[second])) == 1 and len(marks[first]) == 2
    assert common.secrets[marks[first][0].decode()] == COMMON


def test_a_host_that_was_recorded_before_the_secret_was_known_is_written_anew(tmp_path: Path) -> None:
    common = Redactor()
    early = [Answer("log", Completed(f"using {COMMON[3:]}\n".encode(), b"", 0, 0.1))]
    late = [Answer("env", Completed(f"X_TOKEN={COMMON[3:]}\n".encode(), b"", 0, 0.1))]
    a = _write(tmp_path / "a.tar.gz", "a", Redactor(alike=common), early)
    b = _write(tmp_path / "b.tar.gz", "b", Redactor(alike=common), late)
    assert COMMON[3:].encode() in b"".join(_members(a).values())
    bundle_again.settle([a, b], common)
    assert COMMON[3:].encode() not in b"".join([*_members(a).values(), *_members(b).values()])


def test_the_bundle_says_what_was_replaced_and_where(tmp_path: Path) -> None:
    report = json.loads(_members(_bundle(tmp_path / "b.tar.gz"))["redaction.json"])
    rows = {(row["where"], row["kind"]) for row in report["replaced"]}
    assert ("/root/.netrc", "netrc password") in rows and ("git fetch", "named secret") in rows
    assert all(row["replaced"] > 0 for row in report["replaced"])


def test_an_old_bundle_is_redacted_again_and_old_marks_keep_their_meaning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Old(Redactor):
        def __call__(self, data: bytes, where: str = "") -> bytes:
            return data  # a release that knew no such secret

    kept = Answer("x", Completed(b"HF_TOKEN=<redacted:7>\n", b"", 0, 0.1))
    old = _write(tmp_path / "old.tar.gz", "gpu-01", Old(), [kept, *answers()])
    new = tmp_path / "new.tar.gz"
    assert run(["collect", "--redact-again", str(old), "-o", str(new)]) == 0
    told = capsys.readouterr()
    assert "/root/.netrc: 2 × netrc password" in told.out and "secrets replaced" in told.err
    held = b"\n".join(_members(new).values()).decode(errors="replace")
    assert [one for one in SECRETS if one in held] == []
    assert "HF_TOKEN=<redacted:7>" in held and held.count("<redacted:7>") == 1
    assert run(["collect", "--redact-again", str(new), "-o", str(new)]) == 0
    assert "no more secrets replaced" in capsys.readouterr().err


def test_several_hosts_are_one_bundle_and_are_read_as_several(tmp_path: Path) -> None:
    common = Redactor()
    parts = {f"{name}.tar.gz": _bundle(tmp_path / f"{name}.tar.gz", name, common) for name in ("gpu-a", "gpu-b")}
    whole = tmp_path / "all.tar.gz"
    bundle_again.pack(parts, whole)
    assert stat.S_IMODE(whole.stat().st_mode) == 0o600
    shown = CliRunner().invoke(qops, ["diagnose", "--from", str(whole), "--format", "json"]).stdout
    assert [host["host"] for host in json.loads(shown)["hosts"]] == ["gpu-a", "gpu-b"]
    again = tmp_path / "again.tar.gz"
    bundle_again.again(whole, again, Redactor())
    assert set(_members(again)) == set(_members(whole))


def test_a_damaged_part_costs_the_others_nothing(tmp_path: Path) -> None:
    good = _bundle(tmp_path / "gpu-a.tar.gz", "gpu-a")
    bad = tmp_path / "gpu-b.tar.gz"
    bad.write_bytes(good.read_bytes()[:500])
    whole = tmp_path / "all.tar.gz"
    bundle_again.pack({path.name: path for path in (good, bad)}, whole)
    shown = CliRunner().invoke(qops, ["diagnose", "--from", str(whole), "--format", "json"]).stdout
    hosts = json.loads(shown)["hosts"]
    assert "gpu-a" in [host["host"] for host in hosts]
    assert any("gpu-b" in gap["source"] for host in hosts for gap in host["coverage"]["gaps"])


@pytest.mark.parametrize("content", [b"", b"a log\n", b"\x1f\x8b\x08 broken"])
def test_what_is_no_bundle_is_refused_and_nothing_is_written(content: bytes, tmp_path: Path) -> None:
    source, target = tmp_path / "x.tar.gz", tmp_path / "new.tar.gz"
    source.write_bytes(content)
    with pytest.raises(BundleError):
        bundle_again.again(source, target, Redactor())
    assert [path.name for path in tmp_path.iterdir()] == ["x.tar.gz"]


def test_the_map_is_written_only_when_asked_and_for_its_owner_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "old.tar.gz"
    _write(source, "gpu-01", Redactor(), [Answer("env", Completed(f"X_TOKEN={COMMON}\n".encode(), b"", 0, 0.1))])
    raw = tmp_path / "raw.tar.gz"

    class Old(Redactor):
        def __call__(self, data: bytes, where: str = "") -> bytes:
            return data

    _write(raw, "gpu-01", Old(), [Answer("env", Completed(f"X_TOKEN={COMMON}\n".encode(), b"", 0, 0.1))])
    table = tmp_path / "map.json"
    arguments = ["collect", "--redact-again", str(raw), "-o", str(tmp_path / "new.tar.gz"), "--map", str(table)]
    assert run(arguments) == 0
    assert stat.S_IMODE(table.stat().st_mode) == 0o600
    assert json.loads(table.read_text()) == {"<redacted:1>": COMMON}
    assert COMMON not in capsys.readouterr().out
    assert run(arguments) == 2 and "is there already" in capsys.readouterr().err
