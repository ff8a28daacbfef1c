"""`qops collect` on this host, with real processes that hold secrets."""

import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from qops.cli.run import run

ARGUMENT, VARIABLE = "Pl4nted4rgument77x", "Pl4ntedV4riable88y"
# Named as a worker of vLLM is, so that the probes look at its arguments and variables.
ENGINE = "import sys, time; open('/proc/self/comm', 'w').write('VLLM::Worker'); sys.stdout.write('up\\n'); sys.stdout.flush(); time.sleep(300)"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[None]:
    program = tmp_path / "vllm"
    program.write_text(ENGINE)
    variables = os.environ | {"MY_SERVICE_TOKEN": VARIABLE, "NCCL_DEBUG": "INFO", "HF_HOME": "/x"}
    process = subprocess.Popen(
        [sys.executable, str(program), "serve", "some/model", "--api-key", ARGUMENT],
        env=variables,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None and process.stdout.readline()
    yield
    process.kill()
    process.wait()
    process.stdout.close()


def _held(bundle: Path) -> bytes:
    with tarfile.open(bundle) as tar:
        return b"\n".join(tar.extractfile(member).read() for member in tar)  # type: ignore[union-attr]


@pytest.mark.slow
@pytest.mark.usefixtures("engine")
def test_what_a_running_engine_holds_leaves_the_host_redacted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = tmp_path / "host.tar.gz"
    assert run(["collect", "serve", "-o", str(bundle), "--seconds", "6"]) == 0
    held = _held(bundle)
    assert b"some/model" in held  # the engine was seen
    assert ARGUMENT.encode() not in held and VARIABLE.encode() not in held
    for form in ("text", "json", "html", "junit", "sarif"):
        run(["diagnose", "serve", "--from", str(bundle), "--format", form, "-v"])
        told = capsys.readouterr()
        assert ARGUMENT not in told.out + told.err and VARIABLE not in told.out + told.err


def test_a_map_that_cannot_be_written_is_refused_before_anything_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there = tmp_path / "map"
    there.write_text("mine")
    assert run(["collect", "-o", str(tmp_path / "x.tar.gz"), "--map", str(there)]) == 2
    assert there.read_text() == "mine" and "is there already" in capsys.readouterr().err
    assert not (tmp_path / "x.tar.gz").exists()


def test_redacting_again_asks_no_host(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "x.tar.gz")
    assert run(["collect", "--redact-again", "old.tar.gz", "-i", "hosts.yml", "-o", out]) == 2
    assert run(["collect", "--redact-again", str(tmp_path / "no.tar.gz"), "-o", out]) == 2
    assert "there is no bundle" in capsys.readouterr().err
