"""`-i` and `-l` through the real command line, with hosts that are one sshd on loopback under several names."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from loopback import Sshd, free_port, need_sshd, relay, running

from qops import inventory, probes
from qops.cli import fleet
from qops.cli.run import run
from qops.errors import HEALTHY, INCOMPLETE, INTERRUPTED, UNREACHABLE, USAGE
from qops.probes import system
from qops.probes.base import Command

pytestmark = need_sshd
SELECTED = ("--select", "CUD008")
# A runner that was started in the background hands SIGINT down as ignored.
HEARD = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
FEW = f"{HEARD}from qops import probes; from qops.probes import system; probes.ALL = (system.PROBE,)\nfrom qops.cli import main; main()"
FOUR = "from qops.cli import fleet; fleet.AT_ONCE = 4\n"


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    # One session for each host that asks; the usual limit for those that have not logged in yet is 10.
    server = Sshd(tmp_path_factory.mktemp("sshd"), "MaxStartups 100")
    yield server
    server.stop()


@pytest.fixture
def hosts(sshd: Sshd, tmp_path: Path) -> str:
    """An inventory: gpu-b, gpu-a and gpu-c answer, dead refuses."""
    file = tmp_path / "hosts.ini"
    dead = sshd.entry("dead").replace(f"ansible_port={sshd.port}", f"ansible_port={free_port()}")
    file.write_text(f"[gpu]\n{sshd.entry('gpu-b')}{sshd.entry('gpu-a')}[other]\n{dead}{sshd.entry('gpu-c')}")
    return str(file)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a few questions, so that a test does not take as long as a diagnosis."""
    monkeypatch.setattr(probes, "ALL", (system.PROBE,))


@pytest.mark.usefixtures("few")
def test_hosts_are_reported_in_the_inventorys_order(hosts: str, capsys: pytest.CaptureFixture[str]) -> None:
    status = run(["diagnose", "-i", hosts, "--seconds", "2", "--format", "json", *SELECTED])
    out, err = capsys.readouterr()
    report = json.loads(out)
    assert [h["host"] for h in report["hosts"]] == ["gpu-b", "gpu-a", "dead", "gpu-c"]
    assert [h["verdict"] for h in report["hosts"]] == ["undetermined", "undetermined", "unreachable", "undetermined"]
    assert status == report["summary"]["exit_status"] == UNREACHABLE
    dead = report["hosts"][2]
    assert "cannot be reached: connection refused; try: " in dead["reason"]
    assert dead["findings"] == []
    assert "4 hosts; the slowest was " in err
    assert "gpu-b: " not in err  # lines for a person are for those who asked for text


@pytest.mark.usefixtures("few")
def test_text_has_a_block_for_each_host_and_a_line_for_each_at_the_end(
    hosts: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status = run(["diagnose", "-i", hosts, "-l", "gpu", "--seconds", "2", *SELECTED])
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert sorted(line.partition(":")[0] for line in err.splitlines() if ": undetermined: " in line) == [
        "gpu-a",
        "gpu-b",
    ]
    assert [line for line in lines if line.startswith("──")] == ["── gpu-b", "── gpu-a"]
    assert [line.partition(":")[0] for line in lines[-2:]] == ["gpu-b", "gpu-a"]
    assert status == INCOMPLETE


@pytest.mark.usefixtures("few")
def test_a_connection_that_is_cut_makes_no_healthy_host(
    hosts: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = "p=$$; while ! grep -q '^Name:.sshd' /proc/$p/status; do p=$(sed -n 's/^PPid:.//p' /proc/$p/status); done"
    asks = (*system.PROBE.asks, Command(("sh", "-c", f"{cut}; sleep 0.5; kill -9 $p"), "", name="cut"))
    probe = type(system.PROBE)("system", system.PROBE.makes, system.PROBE.parse, system.PROBE.recognise, asks)
    monkeypatch.setattr(probes, "ALL", (probe,))
    status = run(["diagnose", "-i", hosts, "-l", "gpu-a", "--seconds", "3", "--format", "json", *SELECTED])
    (host,) = json.loads(capsys.readouterr().out)["hosts"]
    assert host["verdict"] == "undetermined"
    assert host["reason"].startswith("the connection to gpu-a was lost")
    assert "uname -a" not in [gap["source"] for gap in host["coverage"]["gaps"]]
    assert status == INCOMPLETE


@pytest.mark.usefixtures("few")
def test_each_host_gets_a_bundle_and_they_are_judged_again(
    hosts: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "bundles"
    assert run(["collect", "-i", hosts, "-l", "gpu", "-o", str(folder), "--seconds", "2"]) == HEALTHY
    assert sorted(f.name for f in folder.iterdir()) == ["gpu-a.tar.gz", "gpu-b.tar.gz"]
    assert capsys.readouterr().err.count("wrote ") == 2
    run(["diagnose", "--from", str(folder), "--format", "json", *SELECTED])
    assert {h["host"] for h in json.loads(capsys.readouterr().out)["hosts"]} == {"gpu-a", "gpu-b"}


@pytest.mark.usefixtures("few")
def test_a_skewed_clock_is_measured_shown_and_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    skews, servers = {"ahead": 37, "behind": -4000}, []
    for name, seconds in skews.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "date").write_text(f'#!/bin/sh\nexec /bin/date -d "{seconds} seconds" "$@"\n')
        (tmp_path / name / "date").chmod(0o755)
        servers.append(Sshd(tmp_path / f"sshd-{name}", f"SetEnv PATH={tmp_path / name}:/usr/bin:/bin"))
    (tmp_path / "hosts.ini").write_text("".join(map(Sshd.entry, servers, skews)))
    bundles = str(tmp_path / "both.tar.gz")
    try:
        assert run(["collect", "-i", f"{tmp_path}/hosts.ini", "-o", bundles, "--seconds", "2", "-q"]) == HEALTHY
    finally:
        for server in servers:
            server.stop()
    run(["diagnose", "--from", bundles, "--format", "json", *SELECTED])
    clocks = {host["host"]: host["clock"] for host in json.loads(capsys.readouterr().out)["hosts"]}
    assert set(clocks) == set(skews)
    for name, clock in clocks.items():
        assert 0 < clock["within"] < 1
        assert abs(clock["ahead"] - skews[name]) <= clock["within"]
    again = str(tmp_path / "again.tar.gz")
    assert run(["collect", "--redact-again", bundles, "-o", again, "-q"]) == HEALTHY
    run(["diagnose", "--from", again, *SELECTED])
    out = capsys.readouterr().out
    assert re.search(r"^clock +3[67]\.\d\d\d s ahead of this machine's, give or take 0\.\d\d\d s$", out, re.M)
    assert re.search(r"^clock +\d{4}\.\d\d\d s behind this machine's", out, re.M)


@pytest.mark.usefixtures("few")
def test_one_host_goes_to_a_file_and_several_to_one_bundle_or_a_folder(
    hosts: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(tmp_path / "one.tar.gz")
    assert run(["collect", "-i", hosts, "-l", "gpu-a", "-o", file, "--seconds", "2", "-q"]) == HEALTHY
    assert Path(file).is_file()
    assert capsys.readouterr().err == ""
    assert run(["collect", "-i", hosts, "-o", file, "--seconds", "2"]) == UNREACHABLE
    assert "has 3 of 4 hosts" in capsys.readouterr().err
    assert sorted(f.name for f in tmp_path.iterdir()) == ["hosts.ini", "one.tar.gz"]
    run(["diagnose", "--from", file, "--format", "json", *SELECTED])
    assert {h["host"] for h in json.loads(capsys.readouterr().out)["hosts"]} == {"gpu-a", "gpu-b", "gpu-c"}
    (tmp_path / "plain").write_text("")
    assert run(["collect", "-i", hosts, "-o", str(tmp_path / "plain"), "--seconds", "2"]) == USAGE
    assert (
        run(["collect", "-i", hosts, "-l", "dead,gpu-c", "-o", str(tmp_path / "two"), "--seconds", "2"]) == UNREACHABLE
    )
    assert "not reached: dead (127.0.0.1:" in capsys.readouterr().err
    assert [f.name for f in (tmp_path / "two").iterdir()] == ["gpu-c.tar.gz"]


def test_options_that_do_not_go_together(hosts: str, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (
        ["-l", "gpu"],
        ["-i", hosts, "--from", "x"],
        ["-i", hosts, "--watch"],
        ["-i", hosts, "-l", "nobody"],
    ):
        assert run(["diagnose", *arguments]) == USAGE
    assert "add -i INVENTORY" in capsys.readouterr().err


def _logins(
    sshd: Sshd, monkeypatch: pytest.MonkeyPatch, hosts: int, busy: int, connect: Callable[[str], object]
) -> int:
    """Look at hosts n0, n1 and so on that connect so and answer nothing; return how many did at once at most."""
    most = at_once = 0

    class Fake:
        lost = ""

        def __init__(self, host: inventory.Host) -> None:
            self.name = host.name

        def connect(self) -> None:
            nonlocal most, at_once
            at_once += 1
            most = max(most, at_once)
            connect(self.name)
            at_once -= 1

        def stop(self) -> None:
            pass

    monkeypatch.setattr(fleet, "Ssh", Fake)
    monkeypatch.setattr(fleet, "BUSY", busy)
    many = [sshd.named(f"n{n}") for n in range(hosts)]
    looked, interrupted = fleet.look(many, (), lambda found, lost, said: found.host, what="", seconds=1, quiet=True)
    assert [one.result for one in looked] == [h.name for h in many]
    assert not interrupted
    return most


def test_no_more_hosts_log_in_at_once_than_the_processors_can_serve(
    sshd: Sshd, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _logins(sshd, monkeypatch, 25, 3, lambda name: time.sleep(0.1)) == 3


def test_hosts_that_are_silent_do_not_keep_others_from_logging_in(sshd: Sshd, monkeypatch: pytest.MonkeyPatch) -> None:
    """And of those that count as waiting there are no more than of those that are busy."""
    rest = threading.Event()
    heard = threading.Barrier(4, action=rest.set)

    def connect(name: str) -> None:
        # Two are silent until four others, two at a time, have logged in; then all are for a while.
        if name in ("n0", "n1"):
            assert rest.wait(60)
        elif name in ("n2", "n3", "n4", "n5"):
            time.sleep(0.2)
            threading.Thread(target=heard.wait, daemon=True).start()
        else:
            time.sleep(0.5)

    monkeypatch.setattr(fleet, "SILENT", 0.05)
    assert 2 < _logins(sshd, monkeypatch, 14, 2, connect) <= 4


def test_a_host_is_told_of_when_it_is_judged_and_not_when_all_are(sshd: Sshd, tmp_path: Path) -> None:
    late = relay(tmp_path / "late.py", after=4)
    file = tmp_path / "hosts.ini"
    slow = sshd.entry("late").replace("-F none", f'-F none -o "ProxyCommand={late}"')
    file.write_text(f"{slow}{sshd.entry('early')}")
    arguments = ["diagnose", "-i", str(file), "--seconds", "1", *SELECTED]
    with subprocess.Popen(
        [sys.executable, "-c", FEW, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as one:
        assert one.stdout is not None and one.stderr is not None
        said = [(line.decode(), time.monotonic()) for line in one.stderr]
        report = one.stdout.read().decode()
    when = {line.partition(":")[0]: at for line, at in said if ": undetermined: " in line}
    assert when["late"] - when["early"] > 2
    assert report.index("── late") < report.index("── early")


@pytest.mark.slow
def test_ctrl_c_at_any_moment_loses_no_host_that_has_answered(sshd: Sshd, tmp_path: Path) -> None:
    """Twelve hosts, at most four at once, so that some are done, some are asked and some wait at every moment."""
    file, names = tmp_path / "hosts.ini", [f"n{number}" for number in range(12)]
    file.write_text("".join(sshd.entry(name) for name in names))
    seed = int(os.environ.get("QOPS_SEED", time.time_ns()))
    chance = random.Random(seed)
    kept = 0
    for _ in range(int(os.environ.get("QOPS_INTERRUPTS", "5"))):
        after = chance.uniform(0.2, 7.0)
        told = f"seed {seed}, interrupted after {after:.3f} s"
        arguments = ["diagnose", "-i", str(file), "--seconds", "2", "--format", "json", *SELECTED]
        with subprocess.Popen(
            [sys.executable, "-c", f"{FOUR}{FEW}", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as one:
            time.sleep(after)
            one.send_signal(signal.SIGINT)
            out, _ = one.communicate(timeout=60)
        if not out:  # before the first host was asked
            assert one.returncode in (INTERRUPTED, -signal.SIGINT), told  # the second while Python still starts
            continue
        hosts = json.loads(out)["hosts"]
        assert [host["host"] for host in hosts] == names, told
        done = [host for host in hosts if not host["reason"].startswith("interrupted before")]
        assert all(host["coverage"]["judged"] for host in done), told
        if len(done) < len(names):
            assert one.returncode == INTERRUPTED, told
        else:  # the third when Python ends already
            assert one.returncode in (INTERRUPTED, INCOMPLETE, -signal.SIGINT), told
        kept += len(done)
    assert kept, f"seed {seed}: every moment was before the first answer"


def test_ctrl_c_keeps_what_there_is_and_ends_what_hangs_on_the_hosts(hosts: str) -> None:
    word = f"64.{os.getpid()}"
    code = (
        f"{HEARD}from qops import probes; from qops.probes import system; from qops.probes.base import *; "
        f"asks = (*system.PROBE.asks, Command(('sleep', '{word}'), '', timeout=60)); "
        "probes.ALL = (Probe('system', system.PROBE.makes, system.PROBE.parse, system.PROBE.recognise, asks),); "
        "from qops.cli import main; main()"
    )
    arguments = ["diagnose", "-i", hosts, "-l", "gpu", "--seconds", "60", "--format", "json", *SELECTED]
    with subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr is not None
            assert process.stderr.readline().startswith("looking at 2 hosts")  # said after two seconds
            time.sleep(3)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
        finally:
            process.kill()
    assert process.returncode == INTERRUPTED, err
    for host in json.loads(out)["hosts"]:
        assert host["verdict"] == "undetermined"
        assert host["reason"].startswith("interrupted before")
    assert not running(f"sleep {word}")
