"""`qops watch`: a look is cheap, is kept, and is found again; a ring that cannot be written costs no verdict."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from prometheus_client.parser import text_string_to_metric_families

from qops import ring
from qops.cli import watching
from qops.cli.group import qops
from qops.cli.run import run
from qops.probes.base import Command

SMI = """#!/bin/sh
echo "$*" >>"$CALLS"
case $* in
--query-gpu=*) cat <<END
index, name, uuid, pci.bus_id, driver_version, memory.total [MiB], ecc.errors.uncorrected.volatile.total
0, NVIDIA H200, GPU-0d4b7a54-1111-2222-3333-444455556666, 00000000:19:00.0, 580.95.05, 143771 MiB, ERRORS
END
;; *) exit 9 ;; esac
"""


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A host with one GPU whose nvidia-smi answers the cheap question alone."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "nvidia-smi").write_text(SMI.replace("ERRORS", "0"))
    (programs / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    monkeypatch.setenv("QOPS_ROOT", str(tmp_path / "root"))
    return tmp_path


def _look(folder: Path, *more: str) -> int:
    done = CliRunner().invoke(qops, ["watch", "--once", "-q", "--folder", str(folder), *more], standalone_mode=False)
    assert done.exception is None, done.exception
    return int(done.return_value)


def test_a_look_is_judged_kept_and_shown(host: Path) -> None:
    metrics = host / "qops.prom"
    status = _look(host / "ring", "--prometheus", str(metrics))
    (look,) = ring.looks(host / "ring")
    assert look.path.stat().st_mode & 0o077 == 0
    families = {family.name: family for family in text_string_to_metric_families(metrics.read_text())}
    verdicts = {s.labels["verdict"] for s in families["qops_verdict"].samples if s.value == 1}
    assert verdicts == {look.verdict}
    assert families["qops_watch_ring_bytes"].samples[0].value == look.size
    assert status == {"healthy": 0, "fault": 1, "undetermined": 3}[look.verdict]
    shown = CliRunner().invoke(qops, ["watch", "--folder", str(host / "ring"), "show", "--format", "json"])
    (stretch,) = json.loads(shown.stdout)["stretches"]
    assert (stretch["verdict"], stretch["first"], stretch["looks"]) == (look.verdict, str(look.path), 1)
    assert stretch["reason"]


def test_nvidia_smi_is_called_once_and_nothing_is_sampled(host: Path) -> None:
    _look(host / "ring")
    calls = (host / "calls").read_text().splitlines()
    assert len(calls) == 1 and calls[0].startswith("--query-gpu=")
    asks = [ask for probe in watching.cheap() for ask in probe.asks if isinstance(ask, Command)]
    assert all(len(ask.samples) == 1 and not ask.live_only for ask in asks)
    assert {probe.name for probe in watching.cheap()} == set(watching.CHEAP)


def test_what_was_there_before_is_found_when_the_fault_is_gone(host: Path) -> None:
    program = host / "bin/nvidia-smi"
    for errors in ("0", "7", "0"):
        program.write_text(SMI.replace("ERRORS", errors))
        _look(host / "ring")
        time.sleep(1.1)  # looks bear the second in their name
    shown = CliRunner().invoke(qops, ["watch", "--folder", str(host / "ring"), "show"]).stdout
    assert "gpu-memory-ecc-hardware" in shown and "-fault-" in shown
    bad = next(look for look in ring.looks(host / "ring") if look.verdict == "fault")
    done = CliRunner().invoke(qops, ["diagnose", "--from", str(bad.path)], standalone_mode=False)
    assert done.return_value == 1 and "gpu-memory-ecc-hardware" in done.stdout


def test_a_suppressed_finding_does_not_make_the_verdict(host: Path) -> None:
    (host / "bin/nvidia-smi").write_text(SMI.replace("ERRORS", "7"))
    known = host / "suppress.yml"
    known.write_text("- {cause: gpu-memory-ecc-hardware, reason: on order, until: 2099-01-01}\n")
    assert _look(host / "ring", "--suppress", str(known)) != 1


def test_a_ring_that_cannot_be_written_costs_no_verdict(host: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(watching.Writer):
        def __enter__(self) -> "Full":
            raise watching.BundleError("cannot write it: No space left on device")

    monkeypatch.setattr(watching, "Writer", Full)
    metrics = host / "qops.prom"
    done = CliRunner().invoke(
        qops,
        ["watch", "--once", "--folder", str(host / "ring"), "--prometheus", str(metrics)],
        standalone_mode=False,
    )
    assert done.exception is None and "No space left" in done.stderr
    assert "qops_verdict" in metrics.read_text() and done.stdout


def test_a_killed_look_leaves_whole_bundles_alone(host: Path) -> None:
    (host / "bin/nvidia-smi").write_text("#!/bin/sh\nsleep 60\n")
    folder = host / "ring"
    program = subprocess.Popen(
        [sys.executable, "-m", "qops", "watch", "--once", "--folder", str(folder)], stdout=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not list(folder.glob(".*.part")):
        time.sleep(0.05)
    program.send_signal(signal.SIGKILL)
    program.wait()
    assert list(folder.glob(".*.part")) and ring.looks(folder) == ()


def test_a_damaged_bundle_does_not_hide_the_others(host: Path) -> None:
    _look(host / "ring")
    (host / "ring/20261130T100000Z-fault-HST008.tar.gz").write_bytes(b"\x1f\x8b not a bundle")
    shown = CliRunner().invoke(qops, ["watch", "--folder", str(host / "ring"), "show"])
    assert shown.exception is None or isinstance(shown.exception, SystemExit)
    assert len([line for line in shown.stdout.splitlines() if " UTC  " in line]) == 2


def test_a_folder_that_is_not_there_is_a_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["watch", "--folder", str(tmp_path / "no"), "show"]) == 2
    assert "cannot read" in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    assert run(["watch", "--once", "--folder", str(tmp_path / "file" / "ring")]) == 2
